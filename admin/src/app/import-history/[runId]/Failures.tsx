"use client";

import { Card } from "@/components/Card";
import { Head, Table, Td } from "@/components/Table";
import { counted, number } from "@/lib/format";
import type { Schema } from "@/lib/api";

type Detail = Schema<"ImportLogDetail">;
type Failure = Schema<"ImportFailure">;

/** What was repaired in the feed, and which of its records could not be imported. */
export function Failures({ run }: { run: Detail }) {
  const repairs = Object.entries(run.meta.repairs).sort(([, one], [, other]) => other - one);
  return (
    <>
      {run.failedJobs > 0 && <Reasons run={run} />}
      {repairs.length > 0 && (
        <Card title="Repairs">
          <p className="mb-3 text-soft">Errors in the feed that were repaired while it was read.</p>
          <Table label="Repairs by kind">
            <Head columns={{ Kind: "text", Times: "number" }} />
            <tbody>
              {repairs.map(([kind, times]) => (
                <tr key={kind}>
                  <Td className="wrap-anywhere">{kind}</Td>
                  <Td isNumber>{number(times)}</Td>
                </tr>
              ))}
            </tbody>
          </Table>
        </Card>
      )}
    </>
  );
}

function Reasons({ run }: { run: Detail }) {
  const samples = new Map<string, Failure[]>();
  for (const failure of run.failures) {
    samples.set(failure.reason, [...(samples.get(failure.reason) ?? []), failure]);
  }
  const counts = new Map(Object.entries(run.failureReasons));
  // Beyond the most frequent reasons, the store counts "other reasons" together.
  for (const [reason, some] of samples) if (!counts.has(reason)) counts.set(reason, some.length);
  const reasons = [...counts].sort(([, one], [, other]) => other - one);
  return (
    <Card title="Failures">
      <p className="mb-3 text-soft">
        {counted(run.failedJobs, "record was", "records were")} not imported
        {run.failures.length < run.failedJobs && `; samples of the first ${number(run.failures.length)} are kept`}.
      </p>
      <ul className="flex flex-col gap-2">
        {reasons.map(([reason, times], index) => (
          <li key={reason}>
            <Reason reason={reason} times={times} samples={samples.get(reason) ?? []} isOpen={index === 0} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

type ReasonProps = { reason: string; times: number; samples: Failure[]; isOpen: boolean };

function Reason({ reason, times, samples, isOpen }: ReasonProps) {
  return (
    <details open={isOpen} className="rounded-lg border border-line">
      <summary className="cursor-pointer px-3 py-2 wrap-anywhere">
        <span className="font-medium">{reason}</span>
        <span className="text-soft tabular-nums"> · {counted(times, "record")}</span>
      </summary>
      {samples.length === 0 ? (
        <p className="border-t border-line px-3 py-2 text-soft">No sample of these was kept.</p>
      ) : (
        <div
          role="region"
          aria-label={`Samples: ${reason}`}
          tabIndex={0}
          className="max-h-96 overflow-y-auto border-t border-line"
        >
          <ol>
            {samples.map((sample, index) => (
              <li key={index} className="border-b border-line px-3 py-2 last:border-b-0">
                <div className="text-sm text-soft">
                  {sample.index === null ? "Position unknown" : `Record ${number(sample.index + 1)} of the feed`}
                </div>
                <pre className="text-sm whitespace-pre-wrap wrap-anywhere">{sample.sample || "(empty)"}</pre>
              </li>
            ))}
          </ol>
        </div>
      )}
    </details>
  );
}
