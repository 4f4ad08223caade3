// A source in rows that all have the same height, and what each of them shows.

import { isHalf } from "@/lib/format";
import type { Kind, Token } from "./sourceTokens";

export const ROW = 160; // characters; longer lines are broken
const ROWS_IN_BLOCK = 25;

/** Rows from here to there in the text, and the numbers of their lines. */
export type Block = { start: number; rows: [number, number][]; numbers: string };
export type Part = { kind: Kind; text: string };

/** Up to so many rows of the text, in blocks; and the text up to there. */
export function blocksOf(text: string, most: number): [string, Block[]] {
  const blocks: Block[] = [];
  let line = 0;
  let rows = 0;
  const add = (start: number, end: number, name: string) => {
    let block = blocks.at(-1);
    if (block === undefined || block.rows.length >= ROWS_IN_BLOCK) {
      block = { start, rows: [], numbers: "" };
      blocks.push(block);
    }
    block.rows.push([start, end]);
    block.numbers += `${name}\n`;
    rows += 1;
  };
  for (let at = 0; at <= text.length; ) {
    if (rows >= most) return [text.slice(0, at), blocks];
    const found = text.indexOf("\n", at);
    const end = found < 0 ? text.length : found;
    const last = text[end - 1] === "\r" && end > at ? end - 1 : end;
    line += 1;
    let start = at;
    do {
      let stop = Math.min(start + ROW, last);
      if (stop < last && isHalf(text, stop)) stop -= 1;
      add(start, stop, start === at ? String(line) : "");
      start = stop;
    } while (start < last);
    at = end + 1;
  }
  return [text, blocks];
}

/** The text of a block, in runs of one kind. */
export function partsOf(block: Block, text: string, tokens: Token[]): Part[] {
  let index = lastBefore(tokens, block.start);
  const parts: Part[] = [];
  const add = (kind: Kind, more: string) => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += more;
    else if (more) parts.push({ kind, text: more });
  };
  for (const [start, end] of block.rows) {
    let at = start;
    while (at < end) {
      while ((tokens[index + 1]?.start ?? end) <= at) index += 1;
      const next = Math.min(end, tokens[index + 1]?.start ?? end);
      add(tokens[index]?.kind ?? "text", text.slice(at, next));
      at = next;
    }
    add(parts.at(-1)?.kind ?? "text", "\n");
  }
  return parts;
}

/** The index of the last token that starts at the place or before it. */
function lastBefore(tokens: Token[], place: number): number {
  let low = 0;
  let high = tokens.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((tokens[middle]?.start ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
