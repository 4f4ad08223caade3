"use client";

import { StatusBadge } from "@/components/Badge";
import { Facts } from "@/components/Table";
import { Time } from "@/components/Time";
import { counted, number } from "@/lib/format";
import { kindOf, price, short, type Page } from "@/lib/watch";
import { Outcome } from "../PageList";

/** The findings of the last check. */
export function Latest({ page }: { page: Page }) {
  const kind = kindOf(page.classification);
  return (
    <Facts
      items={[
        [
          "Price",
          <span key="price">
            {price(page.price, page.currency)}
            {page.listPrice !== null && (
              <span className="text-soft"> instead of {price(page.listPrice, page.currency)}</span>
            )}
          </span>,
        ],
        ["Availability", page.availability ? <StatusBadge key="availability" status={page.availability} /> : "–"],
        [
          "Kind",
          kind === null ? (
            "–"
          ) : (
            <span key="kind">
              {short(kind.type.replaceAll("_", " "), 40)}
              {kind.confidence !== null && (
                <span className="text-soft">, {Math.round(kind.confidence * 100)} % sure</span>
              )}
              {kind.reasons.length > 0 && <span className="block text-sm text-soft">{kind.reasons.join("; ")}</span>}
            </span>
          ),
        ],
        [
          "Last check",
          <span key="check">
            <Time at={page.lastChecked} ago /> <Outcome page={page} />
            {page.lastError && <span className="block text-bad">{page.lastError}</span>}
          </span>,
        ],
        [
          "Version",
          page.version === null ? (
            "–"
          ) : (
            <span key="version">
              {number(page.version)}, of <Time at={page.lastUpdated} />
            </span>
          ),
        ],
        ["Text", page.text ? counted(page.text.split("\n").length, "line") : "none"],
        ["Images, links", `${number(page.images?.length ?? 0)}, ${number(page.links?.length ?? 0)}`],
      ]}
    />
  );
}
