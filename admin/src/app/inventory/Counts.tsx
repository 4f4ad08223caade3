"use client";

import { useEffect, useRef } from "react";
import { To } from "@/components/Links";
import { api } from "@/lib/api";
import { useAddress } from "@/lib/address";
import { number } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { STATES } from "./details";

const SHORTEST_MS = 2500; // they are counted no more often

/** How many records are in each state; each leads to them. */
export function Counts({ changes }: { changes: number }) {
  const [address] = useAddress();
  const counts = useResource("inventory counts", (signal) => api.get("/metadata/counts", { signal }));
  const { reload } = counts;
  const last = useRef(0);
  useEffect(() => {
    if (changes === 0) return;
    const wait = Math.max(0, last.current + SHORTEST_MS - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      reload();
    }, wait);
    return () => clearTimeout(timer);
  }, [changes, reload]);
  const chosen = address.get("status");
  return (
    <nav aria-label="Records by state">
      <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-5">
        {STATES.map((state) => {
          const count = counts.data?.counts[state];
          const isChosen = chosen === state;
          return (
            <li key={state}>
              <To
                href={withStatus(address, isChosen ? null : state)}
                className={`block rounded-xl border bg-card p-4 shadow-card hover:border-accent hover:no-underline ${
                  isChosen ? "border-accent" : "border-line"
                }`}
              >
                <span className="block text-sm text-soft">{state.replaceAll("_", " ").toLowerCase()}</span>
                <span className="mt-1 block text-2xl font-semibold text-ink tabular-nums">
                  {count === undefined ? "–" : number(count)}
                </span>
                {isChosen && <span className="sr-only"> (shown; choose again to show all)</span>}
              </To>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

function withStatus(address: URLSearchParams, state: string | null): string {
  const next = new URLSearchParams(address);
  next.delete("cursor");
  if (state) next.set("status", state);
  else next.delete("status");
  return `/inventory?${next}`;
}
