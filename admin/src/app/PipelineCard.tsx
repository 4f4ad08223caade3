import { Card } from "@/components/Card";
import { Bars, type Bar } from "@/components/Charts";
import { To } from "@/components/Links";
import type { Schema } from "@/lib/api";
import { clockOf, counted, number, short } from "@/lib/format";

const MINUTE_MS = 60_000;

/** Sixty bars, whatever is known: what was before has none. */
function lastHour(minutes: Schema<"Minute">[]): Bar[] {
  const known = new Map(minutes.map((minute) => [new Date(minute.at).getTime(), minute]));
  const last = Math.max(...known.keys(), 0) || Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: 60 }, (_, index) => {
    const at = last - (59 - index) * MINUTE_MS;
    const minute = known.get(at);
    return { label: clockOf(at), good: minute?.done ?? 0, bad: minute?.failed ?? 0 };
  });
}

/** One pipeline at a glance: what waits, what is under way, and the last hour minute by minute. */
export function PipelineCard({
  name,
  href,
  item,
  of,
  pipeline,
}: {
  name: string;
  href: string;
  item: string; // what is kept: record
  of: string; // what is counted per minute: URLs
  pipeline: Schema<"Pipeline">;
}) {
  const label = `${name}, ${of} per minute in the last hour: ${number(pipeline.doneLastHour)} done, ${number(pipeline.failedLastHour)} failed`;
  return (
    <Card title={<To href={href}>{name}</To>} actions={<span className="text-soft tabular-nums">{counted(pipeline.stored, item)}</span>}>
      <div className="@container">
        <dl className="grid grid-cols-2 gap-2 text-center @xs:grid-cols-4">
          <Count name="queued" value={pipeline.queued} />
          <Count name="in flight" value={pipeline.inFlight} />
          <Count name="done" value={pipeline.doneLastHour} hint="in the last hour" />
          <Count name="failed" value={pipeline.failedLastHour} hint="in the last hour" isBad={pipeline.failedLastHour > 0} />
        </dl>
      </div>
      <div className="mt-4">
        <Bars bars={lastHour(pipeline.minutes)} label={label} />
        <p className="mt-1 text-sm text-soft">{of} per minute, last hour</p>
      </div>
    </Card>
  );
}

function Count({ name, value, hint, isBad = false }: { name: string; value: number | null; hint?: string; isBad?: boolean }) {
  return (
    <div className="min-w-0">
      <dd
        className={`text-xl font-semibold tabular-nums ${isBad ? "text-bad" : ""}`}
        title={value === null ? undefined : number(value)}
      >
        {value === null ? "–" : short(value)}
      </dd>
      <dt className="text-sm whitespace-nowrap text-soft" title={hint}>
        {name}
      </dt>
    </div>
  );
}
