"use client";

import { useEffect, useRef } from "react";
import { StatusBadge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { To } from "@/components/Links";
import { api } from "@/lib/api";
import { counted, number } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { isFinal, recordAddress } from "./details";

export type Outcome = { accepted: string[]; refused: { url: string; reason: string }[]; noRoom: string[] };

const FOLLOWED = 20;
const LISTED = 200;
const ROUND_MS = 1000; // a round is a request for each that is followed

/** The results of the URLs submitted here. */
export function Submitted({
  outcome,
  changes,
  isBusy,
  onAgain,
  onClose,
}: {
  outcome: Outcome;
  changes: number;
  isBusy: boolean;
  onAgain: () => void;
  onClose: () => void;
}) {
  const { accepted, refused, noRoom } = outcome;
  return (
    <section aria-label="Results" className="mt-5 flex flex-col gap-4 border-t border-line pt-4">
      {noRoom.length > 0 && (
        <div className="flex flex-wrap items-center gap-3 rounded-lg bg-warn-pale p-3 text-warn">
          <p className="min-w-0 flex-1">
            {counted(noRoom.length, "URL")} did not fit into the full queue. Submit them again when it is
            shorter.
          </p>
          <Button onClick={onAgain} isBusy={isBusy}>
            Send {number(noRoom.length)} again
          </Button>
        </div>
      )}
      {refused.length > 0 && (
        <div>
          <h3 className="text-bad">{number(refused.length)} refused</h3>
          <div role="region" aria-label="Refused URLs" tabIndex={0} className="mt-1 max-h-56 overflow-y-auto">
            <ul>
              {refused.slice(0, LISTED).map(({ url, reason }, index) => (
                <li key={index} className="border-b border-line py-1.5">
                  <code className="line-clamp-2 text-sm wrap-anywhere">{url}</code>
                  <span className="text-sm text-bad wrap-anywhere">{reason}</span>
                </li>
              ))}
              {refused.length > LISTED && (
                <li className="py-1.5 text-soft">and {number(refused.length - LISTED)} more</li>
              )}
            </ul>
          </div>
        </div>
      )}
      {accepted.length > 0 && <Accepted urls={accepted} changes={changes} />}
      <div>
        <Button onClick={onClose}>Close</Button>
      </div>
    </section>
  );
}

function Accepted({ urls, changes }: { urls: string[]; changes: number }) {
  const followed = urls.slice(0, FOLLOWED);
  const states = useStates(followed, changes);
  return (
    <div>
      <h3>{number(urls.length)} accepted</h3>
      <ul className="mt-1">
        {followed.map((url) => (
          <li key={url} className="flex items-start justify-between gap-3 border-b border-line py-1.5">
            <To href={recordAddress(url)} className="line-clamp-2 min-w-0 wrap-anywhere">
              {url}
            </To>
            <StatusBadge status={states[url] ?? "PENDING"} />
          </li>
        ))}
      </ul>
      {urls.length > FOLLOWED && (
        <p className="mt-2 text-soft">and {number(urls.length - FOLLOWED)} more: see the records below.</p>
      )}
    </div>
  );
}

/** The state of each URL by now; asked again after changes for those that are under way. */
function useStates(urls: string[], changes: number): Record<string, string> {
  const known = useRef<Record<string, string>>({});
  const { data, reload } = useResource(urls.join("\n"), async (signal) => {
    const open = urls.filter((url) => !isFinal(known.current[url] ?? ""));
    const asked = open.map((url) => api.get("/metadata", { query: { url, source: false }, signal }));
    const answers = await Promise.allSettled(asked);
    const found = answers.flatMap((answer, index) =>
      answer.status === "fulfilled" ? [[open[index], answer.value.status]] : [],
    );
    known.current = { ...known.current, ...Object.fromEntries(found) };
    return known.current;
  });
  const last = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, last.current + ROUND_MS - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      reload();
    }, wait);
    return () => clearTimeout(timer);
  }, [changes, reload]);
  return data ?? {};
}
