import { Bars } from "@/components/Charts";
import { Meter } from "@/components/Meter";
import { number } from "@/lib/format";
import type { QueueState } from "./state";

const rate = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const MINUTES = 60;

/** The numbers of messages in a queue. The broker does not report those that are null. */
export function Depth({ queue }: { queue: QueueState }) {
  const figures: [string, number | null, string][] = [
    ["Ready", queue.ready, ""],
    ["Delayed", queue.delayed, ""],
    ["In flight", queue.inFlight, ""],
    ["Dead", queue.dead, queue.dead ? "text-bad" : ""],
  ];
  const words =
    queue.ready === null
      ? "The broker is not responding."
      : `${number(queue.ready)} ready of at most ${number(queue.limit)}`;
  return (
    <>
      <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        {figures.map(([name, count, look]) => (
          <div key={name}>
            <dt className="text-sm text-soft">{name}</dt>
            <dd className={`text-xl font-semibold tabular-nums ${look}`}>
              {count === null ? <span title="Not reported by the broker">–</span> : number(count)}
            </dd>
          </div>
        ))}
      </dl>
      <div className="mt-4">
        <Meter value={queue.ready ?? 0} most={queue.limit} label={words} />
        <p className="mt-1 text-sm text-soft tabular-nums">{words}</p>
      </div>
    </>
  );
}

/** The messages handled per minute, the current minute on the right. */
export function Rate({ queue }: { queue: QueueState }) {
  const counts = [...Array<number>(Math.max(0, MINUTES - queue.handled.length)).fill(0), ...queue.handled];
  const words = `${rate.format(queue.handledPerMinute)} handled per minute`;
  return (
    <div className="mt-4">
      <Bars
        label={`${queue.name}: ${words} over the last five minutes`}
        bars={counts.map((count, index) => {
          const ago = counts.length - 1 - index;
          const label = ago === 0 ? "this minute" : ago === 1 ? "1 minute ago" : `${ago} minutes ago`;
          return { label, good: count, bad: 0, title: `${label}: ${number(count)} handled` };
        })}
      />
      <p className="mt-1 flex flex-wrap justify-between gap-x-4 text-sm text-soft tabular-nums">
        <span>{words}, last 5 minutes</span>
        <span>chart: last hour</span>
      </p>
    </div>
  );
}
