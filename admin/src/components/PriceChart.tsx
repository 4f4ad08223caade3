"use client";

// A price over time: it holds until the next record, so the line goes in steps.

import { useEffect, useId, useRef, useState } from "react";
import { niceTicks } from "@/components/ticks";
import { exactTimeOf } from "@/lib/format";
import { percent, price } from "@/lib/watch";

export type PricePoint = { at: number; amount: number; changePercent: number | null };
export type PriceLevels = { minimum: number; maximum: number; median: number };

const HEIGHT = 260;
const EDGE = { top: 24, right: 16, bottom: 28 };
const LEAST_LEFT = 76;
const CHARACTER_WIDTH = 7; // of a label, about
const LABEL_WIDTH = 62;

/** `points` are the oldest first, in one currency. `label` says in words what is to be seen. */
export function PriceChart({
  points,
  levels,
  currency,
  label,
}: {
  points: PricePoint[];
  levels: PriceLevels | null;
  currency: string | null;
  label: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const clip = useId();
  useEffect(() => {
    if (box.current === null) return;
    const watch = new ResizeObserver(
      ([entry]) => entry && setWidth(Math.max(240, Math.floor(entry.contentRect.width))),
    );
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const first = points[0];
  const last = points.at(-1);
  if (!first || !last) return null;

  const amounts = points.map((point) => point.amount);
  const ticks = niceTicks(
    Math.min(...amounts, levels?.minimum ?? Infinity),
    Math.max(...amounts, levels?.maximum ?? -Infinity),
  );
  const labels = ticks.map((tick) => price(tick, currency));
  const left = Math.max(LEAST_LEFT, 8 + CHARACTER_WIDTH * Math.max(...labels.map((each) => each.length)));
  const [low, high] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const span = last.at - first.at || 1;
  const x = (at: number) =>
    points.length === 1
      ? (left + width - EDGE.right) / 2
      : left + ((at - first.at) / span) * (width - left - EDGE.right);
  const y = (amount: number) => EDGE.top + (1 - (amount - low) / (high - low || 1)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const path = points
    .map((point, index) =>
      index === 0
        ? `M${x(point.at).toFixed(1)} ${y(point.amount).toFixed(1)}`
        : `H${x(point.at).toFixed(1)}V${y(point.amount).toFixed(1)}`,
    )
    .join("");

  return (
    <div ref={box}>
      <svg
        role="img"
        aria-label={label}
        width={width}
        height={HEIGHT}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        className="block max-w-full"
      >
        <clipPath id={clip}>
          <rect x={left - 6} y={0} width={width - left - EDGE.right + 12} height={HEIGHT - EDGE.bottom + 6} />
        </clipPath>
        {ticks.map((tick, index) => (
          <g key={tick}>
            <line x1={left} x2={width - EDGE.right} y1={y(tick)} y2={y(tick)} className="stroke-line" />
            <text x={left - 8} y={y(tick) + 4} textAnchor="end" className="fill-soft text-xs">
              {labels[index]}
            </text>
          </g>
        ))}
        <TimeAxis from={first.at} to={last.at} width={width - left} x={x} />
        {levels && levels.minimum < levels.maximum && (
          <g>
            <line
              x1={left}
              x2={width - EDGE.right}
              y1={y(levels.median)}
              y2={y(levels.median)}
              className="stroke-control"
              strokeDasharray="6 4"
            />
            <text x={width - EDGE.right} y={y(levels.median) - 4} textAnchor="end" className="fill-soft text-xs">
              median
            </text>
          </g>
        )}
        <g clipPath={`url(#${clip})`}>
          <path d={path} className="fill-none stroke-accent" strokeWidth="2" strokeLinejoin="round" />
          {points.map((point, index) => (
            <circle
              key={index}
              cx={x(point.at)}
              cy={y(point.amount)}
              r={points.length > 150 ? 2 : 4}
              className="fill-accent stroke-card"
            >
              <title>
                {`${price(point.amount, currency)}${point.changePercent ? ` (${percent(point.changePercent)})` : ""}, ${exactTimeOf(point.at)}`}
              </title>
            </circle>
          ))}
        </g>
        {notesOf(points, x, left, width).map(({ point, at }) => (
          <text
            key={point.at}
            x={at}
            y={y(point.amount) + ((point.changePercent ?? 0) < 0 ? 18 : -9)}
            textAnchor="middle"
            className={`text-xs font-medium ${(point.changePercent ?? 0) < 0 ? "fill-good" : "fill-bad"}`}
          >
            {percent(point.changePercent)}
          </text>
        ))}
      </svg>
    </div>
  );
}

function TimeAxis({ from, to, width, x }: { from: number; to: number; width: number; x: (at: number) => number }) {
  const options: Intl.DateTimeFormatOptions =
    to - from < 36 * 3_600_000 ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" };
  if (to - from < 10 * 60_000) options.second = "2-digit";
  const format = new Intl.DateTimeFormat(undefined, options);
  const count = from === to ? 1 : Math.max(2, Math.min(6, Math.floor(width / 120)));
  const places = Array.from({ length: count }, (_, index) => from + ((to - from) * index) / Math.max(count - 1, 1));
  return places.map((at, index) => (
    <text
      key={at}
      x={x(at)}
      y={HEIGHT - 8}
      textAnchor={count === 1 ? "middle" : index === 0 ? "start" : index === count - 1 ? "end" : "middle"}
      className="fill-soft text-xs"
    >
      {format.format(at)}
    </text>
  ));
}

/** Moves of the price that are written beside their points: the largest first, as far as there is room. */
function notesOf(
  points: PricePoint[],
  x: (at: number) => number,
  left: number,
  width: number,
): { point: PricePoint; at: number; half: number }[] {
  const notes: { point: PricePoint; at: number; half: number }[] = [];
  const moves = points
    .filter((point) => point.changePercent)
    .sort((a, b) => Math.abs(b.changePercent ?? 0) - Math.abs(a.changePercent ?? 0));
  for (const point of moves.slice(0, 200)) {
    const half = Math.max(LABEL_WIDTH, CHARACTER_WIDTH * percent(point.changePercent).length) / 2;
    const at = Math.min(Math.max(x(point.at), left + half), width - half);
    if (notes.every((note) => Math.abs(note.at - at) >= note.half + half)) notes.push({ point, at, half });
  }
  return notes;
}
