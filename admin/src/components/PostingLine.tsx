"use client";

import type { ReactNode } from "react";
import { Badge } from "@/components/Badge";
import { Time } from "@/components/Time";
import { money } from "@/lib/format";
import type { Schema } from "@/lib/api";

/** "€24,000 to €30,000 a year", "up to $40 an hour"; or as the feed has it. */
export function salaryWords(salary: Partial<Schema<"Salary">>): string | null {
  const { min, max, currency, period, text } = salary;
  const amount = (value: number) => money(value, currency).replace(/[.,]00(?=\D*$)/, "");
  const has = (value: number | null | undefined): value is number => value !== null && value !== undefined;
  let words: string;
  if (has(min) && has(max)) words = min === max ? amount(min) : `${amount(min)} to ${amount(max)}`;
  else if (has(max)) words = `up to ${amount(max)}`;
  else if (has(min)) words = `from ${amount(min)}`;
  else return text ?? null;
  return period ? `${words} ${period === "hour" ? "an" : "a"} ${period}` : words;
}

export function remoteWords(remote: boolean | null): string | null {
  return remote === null ? null : remote ? "remote" : "on site";
}

type Posting = Pick<
  Schema<"PostingPreview">,
  "company" | "location" | "remote" | "jobType" | "salary" | "publishedAt"
>;

type Props = { title: ReactNode; posting: Posting; children?: ReactNode };

/** What matters about a posting, below its title. */
export function PostingLine({ title, posting, children }: Props) {
  const salary = posting.salary && salaryWords(posting.salary);
  const facts = [posting.company, posting.location, posting.jobType, salary].filter(Boolean);
  return (
    <div className="min-w-0 wrap-anywhere">
      <div className="font-medium">{title}</div>
      <div className="mt-0.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-soft">
        {facts.map((fact, index) => (
          <span key={index}>{fact}</span>
        ))}
        {posting.remote !== null && (
          <Badge tone={posting.remote ? "busy" : "calm"}>{remoteWords(posting.remote)}</Badge>
        )}
        {posting.publishedAt && (
          <span>
            published <Time at={posting.publishedAt} ago />
          </span>
        )}
        {children}
      </div>
    </div>
  );
}
