import { Badge } from "@/components/Badge";
import { Card } from "@/components/Card";
import { To } from "@/components/Links";
import type { Schema } from "@/lib/api";
import { number } from "@/lib/format";

const SHOWN = 4; // the pipelines stay in sight

export function Troubles({ troubles }: { troubles: Schema<"Trouble">[] }) {
  const more = troubles.slice(SHOWN);
  return (
    <Card title="Needs attention">
      <List troubles={troubles.slice(0, SHOWN)} />
      {more.length > 0 && (
        <details className="mt-2 border-t border-line pt-2">
          <summary className="cursor-pointer py-1 text-soft">{number(more.length)} more</summary>
          <List troubles={more} />
        </details>
      )}
    </Card>
  );
}

function List({ troubles }: { troubles: Schema<"Trouble">[] }) {
  return (
    <ul className="flex flex-col divide-y divide-line">
      {troubles.map((trouble) => (
        <li key={trouble.what} className="flex flex-wrap items-start gap-3 py-2 first:pt-0 last:pb-0">
          <Badge tone={trouble.level === "error" ? "bad" : "warn"}>{trouble.level}</Badge>
          <div className="min-w-0 flex-1 basis-60">
            <p className="wrap-anywhere">{trouble.what}</p>
            <p className="text-soft wrap-anywhere">{trouble.advice}</p>
          </div>
          <To href={trouble.where}>Look</To>
        </li>
      ))}
    </ul>
  );
}
