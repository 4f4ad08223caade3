import { Card } from "@/components/Card";
import { TroubleList } from "@/components/Troubles";
import type { Schema } from "@/lib/api";
import { number } from "@/lib/format";

const SHOWN = 4; // the pipelines stay in sight

export function Troubles({ troubles }: { troubles: Schema<"Trouble">[] }) {
  const more = troubles.slice(SHOWN);
  return (
    <Card title="Needs attention">
      <TroubleList troubles={troubles.slice(0, SHOWN)} />
      {more.length > 0 && (
        <details className="mt-2 border-t border-line pt-2">
          <summary className="cursor-pointer py-1 text-soft">{number(more.length)} more</summary>
          <TroubleList troubles={more} />
        </details>
      )}
    </Card>
  );
}
