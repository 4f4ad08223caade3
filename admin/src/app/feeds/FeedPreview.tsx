"use client";

import { useEffect, useRef, useState } from "react";
import { Badge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Out } from "@/components/Links";
import { PostingLine } from "@/components/PostingLine";
import { Prose } from "@/components/Prose";
import { Skeleton } from "@/components/Skeleton";
import { Empty, ErrorBox } from "@/components/States";
import { Facts } from "@/components/Table";
import { bytes, counted, number } from "@/lib/format";
import { api, type Schema } from "@/lib/api";
import { FORMATS } from "./formats";

type Body = Schema<"FeedPreviewBody">;
type Preview = Schema<"FeedPreview">;
type State = { asked: Body; seen?: Preview; error?: unknown };

/** One preview at a time: the next one ends the one before. */
export function usePreview() {
  const [state, setState] = useState<State | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const show = async (asked: Body) => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setState({ asked });
    try {
      const seen = await api.post("/api/feeds/preview", { body: asked, signal: abort.signal });
      if (!abort.signal.aborted) setState({ asked, seen });
    } catch (error) {
      if (!abort.signal.aborted) setState({ asked, error });
    }
  };
  return { state, show, isBusy: state !== null && !state.seen && state.error === undefined };
}

type Props = { state: State | null; wanted: Body; isBusy: boolean; onPreview: () => void };

/** The result of the preview. */
export function FeedPreview({ state, wanted, isBusy, onPreview }: Props) {
  const isOld = state !== null && JSON.stringify(state.asked) !== JSON.stringify(wanted);
  return (
    <Card
      title="Preview"
      actions={
        <>
          {isOld && <Badge tone="warn">the form has changed since the preview</Badge>}
          <Button isBusy={isBusy} disabled={!wanted.url} onClick={onPreview}>
            {state === null ? "Show a preview" : "Preview again"}
          </Button>
        </>
      }
    >
      <p role="status" className="sr-only">
        {state?.seen && `${counted(state.seen.fetched, "record")}, ${number(state.seen.failed)} failed`}
      </p>
      {state === null ? (
        <p className="text-soft">
          A preview fetches the feed and shows what an import would find. Nothing is stored.
        </p>
      ) : state.error !== undefined ? (
        <ErrorBox error={state.error} title="No preview of this feed" />
      ) : state.seen ? (
        <Seen seen={state.seen} />
      ) : (
        <Skeleton lines={8} />
      )}
    </Card>
  );
}

function readOf({ isWhole, isCut }: Preview): string {
  if (isCut) return ", the beginning of a larger feed; the counts cover only that part";
  return isWhole ? "" : "; the feed is malformed or cut off: it ends too early";
}

function Seen({ seen }: { seen: Preview }) {
  const good = seen.fetched - seen.duplicates - seen.failed;
  const read = bytes(seen.bytes);
  return (
    <div className="flex flex-col gap-5">
      <Facts
        items={[
          ["Format", seen.format ? `${seen.format}: ${FORMATS[seen.format]}` : "–"],
          ["Read", `${read}${readOf(seen)}`],
          ["Records", number(seen.fetched)],
          ["Postings", number(good)],
          ["Duplicates", number(seen.duplicates)],
          ["Failed", seen.failed ? <span className="text-bad">{number(seen.failed)}</span> : "0"],
        ]}
      />
      {seen.fetched === 0 && (
        <Empty title="This feed is valid but empty">
          <p>You can add it anyway: postings that it lists later will be imported.</p>
        </Empty>
      )}
      <Problems seen={seen} />
      {seen.postings.length > 0 && (
        <div>
          <h3>{seen.postings.length < good ? `The first ${counted(seen.postings.length, "posting")}` : "Postings"}</h3>
          <ul className="mt-1 divide-y divide-line">
            {seen.postings.map((posting, index) => (
              <li key={index} className="py-2">
                <PostingLine
                  title={posting.jobUrl ? <Out url={posting.jobUrl}>{posting.title}</Out> : posting.title}
                  posting={posting}
                >
                  {posting.categories.length > 0 && <span>{posting.categories.join(", ")}</span>}
                </PostingLine>
                {posting.description && (
                  <details className="mt-1">
                    <summary className="cursor-pointer text-sm text-accent">
                      Description<span className="sr-only"> of {posting.title}</span>
                    </summary>
                    <div className="mt-2">
                      <Prose text={posting.description} />
                    </div>
                  </details>
                )}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

function Problems({ seen }: { seen: Preview }) {
  const reasons = Object.entries(seen.failureReasons).sort(([, one], [, other]) => other - one);
  const repairs = Object.entries(seen.repairs).sort(([, one], [, other]) => other - one);
  return (
    <>
      {reasons.length > 0 && (
        <div>
          <h3>Records that failed</h3>
          <ul className="mt-1 list-disc pl-5">
            {reasons.map(([reason, count]) => (
              <li key={reason} className="wrap-anywhere">
                {number(count)} × {reason}
              </li>
            ))}
          </ul>
          {seen.failures.length > 0 && (
            <details className="mt-1">
              <summary className="cursor-pointer text-sm text-accent">Samples</summary>
              <ul className="mt-2 flex flex-col gap-2">
                {seen.failures.map(({ index, reason, sample }, place) => (
                  <li key={place} className="min-w-0 text-sm">
                    <div className="wrap-anywhere">
                      {index !== null && <>Record {number(index + 1)}: </>}
                      {reason}
                    </div>
                    <pre className="mt-1 rounded bg-page p-2 whitespace-pre-wrap wrap-anywhere">{sample}</pre>
                  </li>
                ))}
              </ul>
            </details>
          )}
        </div>
      )}
      {repairs.length > 0 && (
        <div>
          <h3>Repaired errors</h3>
          <p className="text-soft">The feed is malformed but readable.</p>
          <ul className="mt-1 list-disc pl-5">
            {repairs.map(([what, count]) => (
              <li key={what}>
                {number(count)} × {what}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
