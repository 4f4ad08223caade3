"use client";

import { useEffect, useMemo, useRef, useState, type RefObject } from "react";
import { Button } from "@/components/Button";
import { blocksOf, partsOf, ROW, type Block } from "@/components/sourceRows";
import { languageOf, tokensOf, type Kind, type Token } from "@/components/sourceTokens";
import { counted, cut, number } from "@/lib/format";

// How much is shown at first, and added each time.
const CHARACTERS = 200_000;
const ROWS = 5_000;
const LONG_LINE = new RegExp(`[^\\n]{${ROW + 1}}`);

const LOOKS: Record<Kind, string> = {
  text: "",
  tag: "text-accent",
  name: "text-warn",
  string: "text-good",
  comment: "text-soft italic",
  literal: "text-bad",
};

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
            ? `The first ${number(shown.length)} of ${counted(text.length, "character")}.`
            : `${counted(text.length, "character")}.`}{" "}
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
  return partsOf(block, text, tokens).map((part, place) =>
    part.kind === "text" ? (
      part.text
    ) : (
      <span key={place} className={LOOKS[part.kind]}>
        {part.text}
      </span>
    ),
  );
}
