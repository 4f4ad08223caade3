import { Badge } from "@/components/Badge";
import { Line, Named } from "@/components/List/Text";
import type { Column } from "@/components/List/types";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { remoteWords, salaryWords } from "@/lib/posting";

type Posting = Schema<"JobResponse">;

const text = (value: string | null) => value && <Line>{value}</Line>;

export const COLUMNS: Column<Posting>[] = [
  {
    id: "title",
    exported: ["title", "jobUrl"],
    name: "Posting",
    width: 190,
    grow: 3,
    cell: ({ dedupeKey, title, jobUrl }) => (
      <Named href={`/jobs/${encodeURIComponent(dedupeKey)}`} name={title} url={jobUrl ?? undefined} />
    ),
  },
  { id: "company", name: "Company", width: 115, grow: 1, cell: ({ company }) => text(company) },
  { id: "location", name: "Location", width: 115, grow: 1, cell: ({ location }) => text(location) },
  {
    id: "publishedAt",
    name: "Published",
    sort: "publishedAt",
    width: 118,
    cell: ({ publishedAt, createdAt }) =>
      publishedAt ? (
        <Time at={publishedAt} ago />
      ) : (
        <span className="text-soft">
          found <Time at={createdAt} ago />
        </span>
      ),
  },
  {
    id: "open",
    name: "State",
    width: 72,
    cell: ({ open }) => <Badge tone={open ? "good" : "calm"}>{open ? "open" : "closed"}</Badge>,
  },
  { id: "sourceName", name: "Source", width: 110, grow: 1, cell: ({ sourceName }) => text(sourceName) },
  { id: "jobType", name: "Type", width: 95, isExtra: true, cell: ({ jobType }) => text(jobType) },
  { id: "salary", name: "Salary", width: 150, isExtra: true, cell: ({ salary }) => salary && text(salaryWords(salary)) },
  {
    id: "remote",
    name: "Remote",
    width: 85,
    isExtra: true,
    cell: ({ remote }) => (remote === null ? null : <Line>{remoteWords(remote)}</Line>),
  },
  { id: "createdAt", name: "First seen", width: 118, isExtra: true, cell: ({ createdAt }) => <Time at={createdAt} ago /> },
];
