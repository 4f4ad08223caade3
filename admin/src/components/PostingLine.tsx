"use client";

import type { ReactNode } from "react";
import { Badge } from "@/components/Badge";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { remoteWords, salaryWords } from "@/lib/posting";

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
