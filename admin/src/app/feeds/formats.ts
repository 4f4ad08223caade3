// What can be chosen about a feed, in words. The API knows the names, and refuses others.

import type { Schema } from "@/lib/api";
import { counted } from "@/lib/format";

export const FORMATS: Record<NonNullable<Schema<"AddFeedBody">["format"]>, string> = {
  auto: "detected automatically",
  rss: "RSS 0.9x, 1.0 (RDF) and 2.0",
  atom: "Atom 0.3 and 1.0",
  "json-feed": "JSON Feed, and other JSON with a list of records",
  "wp-job-manager": "RSS of a WP Job Manager board, such as Jobicy or Jobspresso",
  weworkremotely: "RSS of We Work Remotely",
  indeed: "Indeed XML, used by many boards",
  ziprecruiter: "ZipRecruiter's XML",
  linkedin: "LinkedIn's XML",
  adzuna: "Adzuna's XML",
  remotive: "Remotive's XML",
  personio: "Personio's XML",
  careerjet: "Careerjet's XML",
  jobrapido: "Jobrapido's XML",
  whatjobs: "WhatJobs' XML",
  jobfront: "JobFront's XML",
  generic: "any other XML: the repeated element is the record",
};

export const FIELDS: string[] = [
  "externalId",
  "title",
  "jobUrl",
  "company",
  "location",
  "city",
  "region",
  "country",
  "remote",
  "jobType",
  "salary",
  "salaryMin",
  "salaryMax",
  "salaryCurrency",
  "salaryPeriod",
  "categories",
  "description",
  "publishedAt",
  "expiresAt",
];

const SPANS: [number, string][] = [
  [10_080, "week"],
  [1440, "day"],
  [60, "hour"],
  [1, "minute"],
];

/** "every hour", "every 90 minutes". */
export function intervalWords(minutes: number | null): string {
  if (minutes === null) return "at the default interval";
  for (const [size, name] of SPANS) {
    const count = minutes / size;
    if (count === 1) return `every ${name}`;
    if (count > 1 && Number.isInteger(count)) return `every ${counted(count, name)}`;
  }
  if (minutes > 1) return `every ${counted(minutes, "minute")}`;
  return `every ${counted(Math.round(minutes * 60), "second")}`;
}
