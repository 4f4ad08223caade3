"use client";

import { useEffect, useMemo, useRef, useState, type RefObject } from "react";
import { Button } from "@/components/Button";
import { languageOf, tokensOf, type Kind, type Token } from "@/components/sourceTokens";
import { number } from "@/lib/format";

// What is shown at first, and more of at a time.
const CHARACTERS = 200_000;
const ROWS = 5_000;
const ROW = 160; // characters; longer lines are broken
const LONG_LINE = new RegExp(`[^\\n]{${ROW + 1}}`);
const ROWS_IN_BLOCK = 25;

const LOOKS: Record<Kind, string> = {
  text: "",
  tag: "text-accent",
  name: "text-warn",
  string: "text-good",
  comment: "text-soft italic",
  literal: "text-bad",
};

type Block = { start: number; rows: [number, number][]; numbers: string };

/** The source of a page: inert text with line numbers. Rows all have the same height and never wrap,
 * so that what is out of sight can be plain text and gets its colours when it comes near. */
export function SourceText({ text, contentType, label }: { text: string; contentType?: string | null; label: string }) {
  const [steps, setSteps] = useState(1);
  const box = useRef<HTMLDivElement>(null);
  const [shown, blocks] = useMemo(() => blocksOf(cut(text, steps * CHARACTERS), steps * ROWS), [text, steps]);
  const tokens = useMemo(() => tokensOf(shown, languageOf(text, contentType)), [shown, text, contentType]);
  return (
    <div>
      <div
        ref={box}
        role="region"
        aria-label={label}
        tabIndex={0}
        className="max-h-[36rem] overflow-auto rounded-lg border border-line bg-page font-mono text-xs leading-5"
      >
        <div className="min-w-max py-2">
          {blocks.map((block) => (
            <SourceBlock key={block.start} block={block} text={shown} tokens={tokens} box={box} />
          ))}
        </div>
      </div>
      <p className="mt-2 flex flex-wrap items-center gap-3 text-sm text-soft">
        <span>
          {shown.length < text.length
            ? `The first ${number(shown.length)} of ${number(text.length)} characters.`
            : `${number(text.length)} characters.`}{" "}
          {LONG_LINE.test(shown) && `Lines longer than ${ROW} characters are broken here.`}
        </span>
        {shown.length < text.length && <Button onClick={() => setSteps(steps + 1)}>Show more</Button>}
      </p>
    </div>
  );
}

function SourceBlock({
  block,
  text,
  tokens,
  box,
}: {
  block: Block;
  text: string;
  tokens: Token[];
  box: RefObject<HTMLDivElement | null>;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (ref.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => setNear(entries.at(-1)?.isIntersecting ?? false),
      { root: box.current, rootMargin: "300px" },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [box]);
  return (
    <div ref={ref} className="flex">
      <pre aria-hidden="true" className="sticky left-0 w-16 shrink-0 bg-page pr-3 text-right text-soft select-none">
        {block.numbers}
      </pre>
      <pre dir="ltr" className="pr-4 [tab-size:4]">
        {isNear ? (
          <Coloured block={block} text={text} tokens={tokens} />
        ) : (
          block.rows.map(([start, end]) => `${text.slice(start, end)}\n`).join("")
        )}
      </pre>
    </div>
  );
}

function Coloured({ block, text, tokens }: { block: Block; text: string; tokens: Token[] }) {
  let index = lastBefore(tokens, block.start);
  const parts: { kind: Kind; text: string }[] = [];
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
  return parts.map((part, place) =>
    part.kind === "text" ? (
      part.text
    ) : (
      <span key={place} className={LOOKS[part.kind]}>
        {part.text}
      </span>
    ),
  );
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

/** The beginning of a text, without half a character at its end. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, isHalf(text, length) ? length - 1 : length);
}

function isHalf(text: string, place: number): boolean {
  const unit = text.charCodeAt(place - 1);
  return unit >= 0xd800 && unit < 0xdc00;
}

/** Up to so many rows of the text, in blocks; and the text up to there. */
function blocksOf(text: string, most: number): [string, Block[]] {
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
