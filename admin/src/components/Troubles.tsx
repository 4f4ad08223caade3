import { Badge } from "@/components/Badge";
import { To } from "@/components/Links";
import type { Schema } from "@/lib/api";

/** What is wrong, what to do about it, and where to look. */
export function TroubleList({ troubles, onLook }: { troubles: Schema<"Trouble">[]; onLook?: () => void }) {
  return (
    <ul className="flex flex-col divide-y divide-line">
      {troubles.map((trouble, index) => (
        <li key={`${index} ${trouble.where}`} className="flex flex-wrap items-start gap-3 py-2 first:pt-0 last:pb-0">
          <Badge tone={trouble.level === "error" ? "bad" : "warn"}>{trouble.level}</Badge>
          <div className="min-w-0 flex-1 basis-60">
            <p className="wrap-anywhere">{trouble.what}</p>
            <p className="text-soft wrap-anywhere">{trouble.advice}</p>
          </div>
          <To href={trouble.where} onClick={onLook}>
            Look
          </To>
        </li>
      ))}
    </ul>
  );
}
