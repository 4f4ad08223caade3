import { Meter } from "@/components/Meter";
import { duration } from "@/lib/format";
import type { Details } from "../details";

const NAMES = [
  ["dns", "DNS lookup"],
  ["connect", "Connecting"],
  ["first_byte", "Waiting for the first byte"],
  ["total", "All, with redirects"],
] as const;

/** How long each step took. A connection that was already open has no first two. */
export function Timings({ timings }: { timings: Details["timings_ms"] }) {
  if (!timings) return <p className="text-soft">No response received.</p>;
  const most = Math.max(...NAMES.map(([name]) => timings[name] ?? 0), 0.1);
  return (
    <dl className="grid grid-cols-[max-content_1fr_max-content] items-center gap-x-4 gap-y-3">
      {NAMES.map(([name, words]) => {
        const ms = timings[name];
        const text = ms === null || ms === undefined ? "none" : shown(ms);
        return (
          <div key={name} className="contents">
            <dt className="text-soft">{words}</dt>
            <dd aria-hidden="true">
              <Meter value={ms ?? 0} most={most} label={`${words}: ${text}`} tone="accent" />
            </dd>
            <dd className="text-right tabular-nums">{text}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function shown(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : duration(ms);
}
