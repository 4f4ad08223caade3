"use client";

import { StatusBadge } from "@/components/Badge";
import { To } from "@/components/Links";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import { duration, number, shortUrl } from "@/lib/format";
import { pagePath, short, type Run } from "@/lib/watch";

export function Runs({ runs }: { runs: Run[] }) {
  return (
    <Table label="Runs">
      <Head
        columns={{
          Started: "text",
          Status: "text",
          By: "text",
          Pages: "number",
          Changes: "number",
          "Price changes": "number",
          Failed: "number",
          Took: "number",
        }}
      />
      <tbody>
        {runs.map((run) => (
          <tr key={run.runId}>
            <Td>
              <Time at={run.startedAt} />
            </Td>
            <Td className="min-w-32">
              <StatusBadge status={run.status} />
              {run.failures.length > 0 && <Failures run={run} />}
            </Td>
            <Td>{run.trigger}</Td>
            <Td isNumber>
              <Progress run={run} />
            </Td>
            <Td isNumber>{number(run.changesDetected)}</Td>
            <Td isNumber>{number(run.priceChangesDetected)}</Td>
            <Td isNumber className={run.pagesFailed > 0 ? "text-bad" : ""}>
              {number(run.pagesFailed)}
            </Td>
            <Td isNumber>{run.status === "in_progress" ? "–" : duration(run.runDuration)}</Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function Progress({ run }: { run: Run }) {
  if (run.status !== "in_progress" || run.pagesTotal === null) return number(run.pagesProcessed);
  return (
    <>
      {number(run.pagesProcessed)} of {number(run.pagesTotal)}
      <progress
        className="ml-auto block w-24"
        aria-label="Pages checked"
        value={run.pagesProcessed}
        max={Math.max(run.pagesTotal, 1)}
      />
    </>
  );
}

function Failures({ run }: { run: Run }) {
  return (
    <details className="mt-1">
      <summary className="cursor-pointer text-sm text-accent">Why</summary>
      <ul className="mt-1 flex max-w-md min-w-56 flex-col gap-1 text-sm">
        {run.failures.map(({ url, reason }) => (
          <li key={url} className="wrap-anywhere">
            <To href={pagePath(run.jobId, url)} className="underline">
              {short(shortUrl(url))}
            </To>
            : {reason}
          </li>
        ))}
        {run.pagesFailed > run.failures.length && (
          <li className="text-soft">and {number(run.pagesFailed - run.failures.length)} more</li>
        )}
      </ul>
    </details>
  );
}
