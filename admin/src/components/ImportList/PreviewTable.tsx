"use client";

import { useState } from "react";
import { Badge, type Tone } from "@/components/Badge";
import { Button } from "@/components/Button";
import { Head, Table, Td } from "@/components/Table";
import type { Schema } from "@/lib/api";
import { counted, number } from "@/lib/format";

export type State = Schema<"EntryState">;
export type Row = {
  state: State;
  name: string;
  url: string | null;
  facts: string[]; // schedule, tags
  reason: string | null;
  notes: string[];
};
export type Counts = Record<State, number>;

const AT_ONCE = 100;
const WORDS: Record<State, [name: string, tone: Tone]> = {
  new: ["New", "good"],
  known: ["Known", "calm"],
  repeated: ["Listed twice", "calm"],
  refused: ["Refused", "bad"],
};
const STATES = Object.keys(WORDS) as State[];

/** The entries of a list and what would become of them, by state. */
export function PreviewTable({ label, counts, rows }: { label: string; counts: Counts; rows: Row[] }) {
  const [state, setState] = useState<State | null>(null);
  const [most, setMost] = useState(AT_ONCE);
  const total = STATES.reduce((sum, each) => sum + counts[each], 0);
  const chosen = state === null ? rows : rows.filter((row) => row.state === state);
  const all = state === null ? total : counts[state];
  const present = STATES.filter((each) => counts[each] > 0);
  const show = (to: State | null) => {
    setState(to);
    setMost(AT_ONCE);
  };
  return (
    <div>
      {present.length > 1 && (
        <div role="group" aria-label="Show" className="mb-3 flex flex-wrap gap-2">
          <Button aria-pressed={state === null} className={look(state === null)} onClick={() => show(null)}>
            All {number(total)}
          </Button>
          {present.map((each) => (
            <Button key={each} aria-pressed={state === each} className={look(state === each)} onClick={() => show(each)}>
              {WORDS[each][0]} {number(counts[each])}
            </Button>
          ))}
        </div>
      )}
      <div className="px-4 sm:px-5">
        <Table label={label}>
          <Head columns={{ State: "text", Entry: "text" }} />
          <tbody>
            {chosen.slice(0, most).map((row, index) => (
              <tr key={index}>
                <Td>
                  <Badge tone={WORDS[row.state][1]}>{WORDS[row.state][0]}</Badge>
                </Td>
                <Td className="w-full wrap-anywhere">
                  {row.name}
                  {row.url && row.url !== row.name && <div className="text-sm text-soft">{row.url}</div>}
                  {row.facts.length > 0 && <div className="text-sm text-soft">{row.facts.join(" · ")}</div>}
                  {row.reason && <div className={`text-sm ${row.state === "refused" ? "text-bad" : ""}`}>{remark(row)}</div>}
                  {row.notes.map((note, which) => (
                    <div key={which} className="text-sm text-warn">
                      Not carried over: {note}
                    </div>
                  ))}
                </Td>
              </tr>
            ))}
          </tbody>
        </Table>
      </div>
      {chosen.length > most && (
        <div className="mt-3">
          <Button onClick={() => setMost(most + AT_ONCE)}>Show {number(Math.min(AT_ONCE, chosen.length - most))} more</Button>
        </div>
      )}
      {chosen.length <= most && all > chosen.length && (
        <p className="mt-2 text-sm text-soft">
          {counted(all - chosen.length, "more entry", "more entries")} of the list {all - chosen.length === 1 ? "is" : "are"}{" "}
          counted and not shown.
        </p>
      )}
    </div>
  );
}

function look(isPressed: boolean): string {
  return isPressed ? "border-accent! bg-accent-pale! text-accent-strong!" : "";
}

function remark({ state, reason }: Row): string | null {
  if (state === "known") return `Here already: ${reason}`;
  return state === "repeated" ? `The same as ${reason}` : reason;
}
