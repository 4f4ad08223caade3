// A diff as the API tells it -> the rows that are shown of it.

import type { Schema } from "./api";
import { cut } from "./format";

export type Words = ["delete" | "equal" | "insert", string][];
export type Kind = "equal" | "delete" | "insert" | "replace" | "away" | "here";

/** A line of the old text, of the new one, or of both. */
export type LineRow = {
  kind: Kind;
  old: number | null;
  new: number | null;
  words: Words;
  moved: string | null; // where to or where from, in words; on the first line of a block
};
/** Unchanged lines that are not in the diff: from `new`, a line of the new text. */
export type GapRow = { kind: "gap"; old: number; new: number; count: number };
export type Row = LineRow | GapRow;

type Operation = Schema<"Operation">;

export function rowsOf(text: Schema<"TextDiff">): Row[] {
  const rows: Row[] = [];
  let old = 1;
  let now = 1;
  for (const hunk of text.hunks ?? []) {
    const skipped = hunk.oldLine - old;
    if (skipped > 0) rows.push({ kind: "gap", old, new: now, count: skipped });
    for (const operation of hunk.operations) rows.push(...linesOf(operation));
    old = hunk.oldLine + hunk.oldLines;
    now = hunk.newLine + hunk.newLines;
  }
  return rows;
}

function linesOf(operation: Operation): LineRow[] {
  const { op, oldLine, newLine } = operation;
  const movedTo = operation.movedTo ?? null;
  const movedFrom = operation.movedFrom ?? null;
  if (op === "replace") {
    return [{ kind: "replace", old: oldLine, new: newLine, words: operation.words ?? [], moved: null }];
  }
  const kind: Kind = op === "move" ? (movedTo !== null ? "away" : "here") : op;
  const lines = operation.lines ?? [];
  const block = lines.length === 1 ? "this line" : `these ${lines.length} lines`;
  return lines.map((line, index) => ({
    kind,
    old: kind === "insert" || kind === "here" ? null : oldLine + index,
    new: kind === "delete" || kind === "away" ? null : newLine + index,
    words: [["equal", line]],
    moved:
      index > 0 || op !== "move"
        ? null
        : movedTo !== null
          ? `${block} moved to line ${movedTo}`
          : `${block} moved here from line ${movedFrom}`,
  }));
}

/** The words of one side, each up to `most` characters in all, and how many characters are left out. */
export function sideOf(words: Words, side: "old" | "new", most: number): { words: Words; left: number } {
  const other = side === "old" ? "insert" : "delete";
  const shown: Words = [];
  let room = most;
  let left = 0;
  for (const [kind, text] of words) {
    if (kind === other) continue;
    const part = cut(text, room);
    if (room > 0) shown.push([kind, part]);
    left += text.length - part.length;
    room = part.length < text.length ? 0 : room - text.length;
  }
  return { words: shown, left };
}
