"use client";

import type { ReactNode } from "react";
import { Badge } from "@/components/Badge";
import { LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { Out, To } from "@/components/Links";
import { Prose } from "@/components/Prose";
import { PageSkeleton } from "@/components/Skeleton";
import { Empty, ErrorBox } from "@/components/States";
import { Facts } from "@/components/Table";
import { Time } from "@/components/Time";
import { addressOf, api, ApiError, type Schema } from "@/lib/api";
import { usePathPart } from "@/lib/address";
import { remoteWords, salaryWords } from "@/lib/posting";
import { useResource } from "@/lib/resource";

type Job = Schema<"JobResponse">;

export function View() {
  const dedupeKey = usePathPart(1);
  const job = useResource(`job ${dedupeKey}`, (signal) =>
    api.get("/api/jobs/{dedupeKey}", { path: { dedupeKey }, signal }),
  );
  const feeds = useResource("feeds", (signal) => api.get("/api/feeds", { signal }));
  if (job.data) return <Shown job={job.data} feed={feeds.data?.data.find(({ sourceUrl }) => sourceUrl === job.data?.sourceUrl)} />;
  if (job.error === undefined) return <PageSkeleton />;
  return (
    <>
      <PageHead title="Job posting">
        <To href="/jobs">All postings</To>
      </PageHead>
      <Card>
        {job.error instanceof ApiError && job.error.status === 404 ? (
          <Empty title="Posting not found">
            <LinkButton href="/jobs">All postings</LinkButton>
          </Empty>
        ) : (
          <ErrorBox error={job.error} onRetry={job.reload} />
        )}
      </Card>
    </>
  );
}

function Shown({ job, feed }: { job: Job; feed: Schema<"FeedResponse"> | undefined }) {
  return (
    <>
      <PageHead title={job.title} actions={job.jobUrl && <Out url={job.jobUrl}>Open at its source</Out>}>
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <To href="/jobs">All postings</To>
          {job.company && <span className="wrap-anywhere">{job.company}</span>}
          <Badge tone={job.open ? "good" : "calm"}>{job.open ? "open" : "closed"}</Badge>
        </span>
      </PageHead>
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_26rem]">
        <Card title="Description">
          {job.description ? <Prose text={job.description} /> : <p className="text-soft">The feed has none.</p>}
        </Card>
        <div className="flex min-w-0 flex-col gap-6">
          <Card title="Posting">
            <Facts items={factsOf(job)} />
          </Card>
          <Card title="Source">
            <Facts items={originOf(job, feed)} />
          </Card>
        </div>
      </div>
    </>
  );
}

/** Facts that the feed does not give are shown as a dash. */
function factsOf(job: Job): [string, ReactNode][] {
  const given = (value: string | null) => value ?? <span className="text-soft">–</span>;
  return [
    ["Link", job.jobUrl ? <Out url={job.jobUrl} /> : given(null)],
    ["Company", given(job.company)],
    ["Location", given(job.location)],
    ["City", given(job.city)],
    ["Region", given(job.region)],
    ["Country", given(job.country)],
    ["Remote", given(remoteWords(job.remote))],
    ["Type", given(job.jobType)],
    ["Pay", given(job.salary && salaryWords(job.salary))],
    ...(job.salary?.text ? [["Pay as given", job.salary.text] as [string, ReactNode]] : []),
    ["Categories", job.categories.length > 0 ? <Categories names={job.categories} /> : given(null)],
    ["Published", <Time key="published" at={job.publishedAt} />],
    ["Expires", <Time key="expires" at={job.expiresAt} />],
    ["Its id", given(job.externalId)],
  ];
}

function originOf(job: Job, feed: Schema<"FeedResponse"> | undefined): [string, ReactNode][] {
  const run = (runId: string, at: string) => (
    <To href={`/import-history/${encodeURIComponent(runId)}`}>
      <Time at={at} />
      <span className="sr-only"> (the run)</span>
    </To>
  );
  return [
    ["Feed", feed ? <To href={`/feeds/${feed.feedId}`}>{feed.name}</To> : job.sourceName],
    ["Feed's URL", <Out key="url" url={job.sourceUrl} />],
    ["First import", run(job.firstRunId, job.createdAt)],
    ["Last change", run(job.lastRunId, job.updatedAt)],
    ...(job.closedAt ? [["Left the feed", <Time key="closed" at={job.closedAt} />] as [string, ReactNode]] : []),
    ["See also", <To key="more" href={addressOf("/jobs", {}, { source: job.sourceUrl })}>postings of this feed</To>],
    ["Key", <code key="key">{job.dedupeKey}</code>],
    ["Content hash", <code key="hash">{job.contentHash}</code>],
  ];
}

function Categories({ names }: { names: string[] }) {
  return (
    <ul className="flex flex-wrap gap-x-3">
      {names.map((name) => (
        <li key={name}>{name}</li>
      ))}
    </ul>
  );
}
