"use client";

// The difference of two texts, inline or side by side. All of it is other people's text.

import { Fragment, useMemo, useState, type ReactNode } from "react";
import { Button } from "@/components/Button";
import { sayError } from "@/components/Toasts";
import type { Schema } from "@/lib/api";
import { rowsOf, sideOf, type GapRow, type LineRow, type Words } from "@/lib/diff";
import { counted, number } from "@/lib/format";

const ROWS = 300; // that are shown at first, and more each time
const LONGEST_LINE = 5000; // characters
const GAP_LINES = 500; // of a gap that are shown

export type Form = "inline" | "side";

const MANY_LINES = 9_999; // their numbers need wider columns
const COLUMNS: Record<Form, number> = { inline: 4, side: 6 };

/** `readNew` loads the lines of the new text, to show folded parts. */
export function TextDiffView({
  text,
  form,
  readNew,
}: {
  text: Schema<"TextDiff">;
  form: Form;
  readNew: () => Promise<string[]>;
}) {
  const rows = useMemo(() => rowsOf(text), [text]);
  const [most, setMost] = useState(ROWS);
  const [lines, setLines] = useState<string[] | null>(null);
  const [open, setOpen] = useState<Set<number>>(new Set());
  const [isBusy, setBusy] = useState(false);
  const shown = rows.slice(0, most);

  async function unfold(gap: GapRow) {
    setBusy(true);
    try {
      if (lines === null) setLines(await readNew());
      setOpen(new Set([...open, gap.new]));
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      <p className="mb-2 text-sm text-soft">
        {counted(text.linesAdded ?? 0, "line")} added, {number(text.linesRemoved ?? 0)} removed
        {text.linesMoved ? `, ${number(text.linesMoved)} moved` : ""}.
      </p>
      {text.isCoarse && (
        <p className="mb-2 rounded-lg border border-warn bg-warn-pale p-3 text-sm text-warn">
          A coarser diff: the texts are too large and too repetitive to compare in full. Text shown as replaced may
          be partly equal, and moved blocks are not marked.
        </p>
      )}
      <div
        className="@container relative overflow-x-auto rounded-lg border border-line"
        role="region"
        aria-label="Differences"
        tabIndex={0}
      >
        <table className="w-full table-fixed border-collapse font-mono text-sm">
          <caption className="sr-only">Lines that differ, {form === "side" ? "side by side" : "inline"}</caption>
          <Columns form={form} isLong={rows.some((row) => Math.max(row.old ?? 0, row.new ?? 0) > MANY_LINES)} />
          <tbody>
            {shown.map((row, index) =>
              row.kind === "gap" ? (
                <Fragment key={index}>
                  {open.has(row.new) && lines !== null ? (
                    <Unfolded gap={row} lines={lines} form={form} />
                  ) : (
                    <tr>
                      <td colSpan={COLUMNS[form]} className="border-y border-line bg-page px-3 py-1 text-soft">
                        <Button
                          isBusy={isBusy}
                          onClick={() => void unfold(row)}
                          className="min-h-7 !border-transparent !bg-transparent !px-1"
                        >
                          Show {counted(row.count, "unchanged line")}
                        </Button>
                      </td>
                    </tr>
                  )}
                </Fragment>
              ) : form === "side" ? (
                <SideRow key={index} row={row} />
              ) : (
                <InlineRows key={index} row={row} />
              ),
            )}
          </tbody>
        </table>
      </div>
      {text.isTruncated && <p className="mt-2 text-sm text-soft">There are more changes than are shown here.</p>}
      {rows.length > most && (
        <div className="mt-3">
          <Button onClick={() => setMost(most + ROWS)}>
            Show more ({counted(rows.length - most, "row is", "rows are")} left)
          </Button>
        </div>
      )}
    </>
  );
}

function Columns({ form, isLong }: { form: Form; isLong: boolean }) {
  if (form === "inline") {
    const number = isLong ? "w-18" : "w-9 sm:w-12";
    return (
      <>
        <colgroup>
          <col className={number} />
          <col className={number} />
          <col className="w-7" />
          <col />
        </colgroup>
        <thead className="sr-only">
          <tr>
            <th scope="col">Old line</th>
            <th scope="col">New line</th>
            <th scope="col">What</th>
            <th scope="col">Text</th>
          </tr>
        </thead>
      </>
    );
  }
  const number = isLong ? "w-0 @xl:w-18" : "w-0 @xl:w-12";
  return (
    <>
      <colgroup>
        <col className={number} />
        <col className="w-5 @xl:w-7" />
        <col />
        <col className={number} />
        <col className="w-5 @xl:w-7" />
        <col />
      </colgroup>
      <thead className="sr-only">
        <tr>
          <th scope="col">Old line</th>
          <th scope="col">What</th>
          <th scope="col">Old text</th>
          <th scope="col">New line</th>
          <th scope="col">What</th>
          <th scope="col">New text</th>
        </tr>
      </thead>
    </>
  );
}

type Side = "old" | "new";
const SIGNS = {
  delete: ["−", "removed"],
  insert: ["+", "added"],
  away: ["↷", "moved away"],
  here: ["↶", "moved here"],
} as const;

/** The mark of a line and its colour: what is gone is marked on the old side, what has come on the new one. */
function markOf(row: LineRow, side: Side): { sign: readonly [string, string] | null; look: string } {
  if (row.kind === "equal") return { sign: null, look: "" };
  if (row.kind === "away" || row.kind === "here") return { sign: SIGNS[row.kind], look: "bg-warn-pale" };
  return side === "old" ? { sign: SIGNS.delete, look: "bg-bad-pale" } : { sign: SIGNS.insert, look: "bg-good-pale" };
}

const CELL = "px-1 py-0.5 align-top sm:px-1.5";

function Sign({ sign, look }: { sign: readonly [string, string] | null; look: string }) {
  return (
    <td className={`${CELL} ${look} text-center font-semibold select-none`}>
      {sign && (
        <>
          <span aria-hidden="true">{sign[0]}</span>
          <span className="sr-only">{sign[1]}</span>
        </>
      )}
    </td>
  );
}

function LineNumber({ value, look }: { value: number | null; look: string }) {
  return <td className={`${CELL} ${look} text-right text-soft select-none`}>{value}</td>;
}

function InlineRows({ row }: { row: LineRow }) {
  const sides: Side[] = row.kind === "replace" ? ["old", "new"] : [row.new === null ? "old" : "new"];
  return sides.map((side) => {
    const { sign, look } = markOf(row, side);
    return (
      <tr key={side}>
        <LineNumber value={row.kind === "replace" && side === "new" ? null : row.old} look={look} />
        <LineNumber value={row.kind === "replace" && side === "old" ? null : row.new} look={look} />
        <Sign sign={sign} look={look} />
        <Line row={row} side={side} look={look} />
      </tr>
    );
  });
}

/** Where two texts have little room, they have no line numbers. */
function SideRow({ row }: { row: LineRow }) {
  return (
    <tr>
      {(["old", "new"] as const).map((side) => {
        const here = side === "old" ? row.old : row.new;
        if (here === null) return <td key={side} colSpan={3} className="bg-page" />;
        const { sign, look } = markOf(row, side);
        return (
          <Fragment key={side}>
            <td className={`${look} text-right align-top text-soft select-none @xl:px-1.5 @xl:py-0.5`}>
              <span className="hidden @xl:inline">{here}</span>
            </td>
            <Sign sign={sign} look={look} />
            <Line row={row} side={side} look={look} />
          </Fragment>
        );
      })}
    </tr>
  );
}

function Line({ row, side, look }: { row: LineRow; side: Side; look: string }) {
  const { words, left } = sideOf(row.words, side, LONGEST_LINE);
  return (
    <td className={`${CELL} ${look} whitespace-pre-wrap wrap-anywhere`}>
      {row.moved && <span className="block font-sans text-warn">{row.moved}</span>}
      {row.kind === "delete" ? <del className="no-underline">{plain(words)}</del> : null}
      {row.kind === "insert" ? <ins className="no-underline">{plain(words)}</ins> : null}
      {row.kind !== "delete" && row.kind !== "insert" && <Marked words={words} />}
      {left > 0 && <span className="font-sans text-soft"> … {counted(left, "more character")}</span>}
    </td>
  );
}

function plain(words: Words): string {
  return words.map(([, text]) => text).join("");
}

/** Words that are gone are struck through, those that have come are underlined; colours come on top. */
export function Marked({ words }: { words: Words }): ReactNode {
  return words.map(([kind, text], index) => {
    if (kind === "delete")
      return (
        <del key={index} className="rounded-sm bg-mark-removed">
          {text}
        </del>
      );
    if (kind === "insert")
      return (
        <ins key={index} className="rounded-sm bg-mark-added">
          {text}
        </ins>
      );
    return <Fragment key={index}>{text}</Fragment>;
  });
}

function Unfolded({ gap, lines, form }: { gap: GapRow; lines: string[]; form: Form }) {
  const shown = lines.slice(gap.new - 1, gap.new - 1 + Math.min(gap.count, GAP_LINES));
  const rows = shown.map((line, index): LineRow => ({
    kind: "equal",
    old: gap.old + index,
    new: gap.new + index,
    words: [["equal", line]],
    moved: null,
  }));
  return (
    <>
      {rows.map((row) =>
        form === "side" ? <SideRow key={row.new} row={row} /> : <InlineRows key={row.new} row={row} />,
      )}
      {gap.count > shown.length && (
        <tr>
          <td colSpan={COLUMNS[form]} className="border-y border-line bg-page px-3 py-1 text-soft">
            {counted(gap.count - shown.length, "more unchanged line")}
          </td>
        </tr>
      )}
    </>
  );
}
