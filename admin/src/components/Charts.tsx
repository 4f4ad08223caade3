"use client";

// Small charts in SVG. Sizes and positions are attributes, as the page's policy allows no inline style.

import { number } from "@/lib/format";

export type Bar = { label: string; good: number; bad: number; title?: string }; // title: instead of the counts, on hover

/** Bars over time: what went well below, what failed on top. `label` says it all in words. */
export function Bars({ bars, label, height = 48 }: { bars: Bar[]; label: string; height?: number }) {
  const most = Math.max(1, ...bars.map((bar) => bar.good + bar.bad));
  const width = 100 / Math.max(bars.length, 1);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 100 ${height}`}
      preserveAspectRatio="none"
      className="block w-full"
      height={height}
    >
      <line x1="0" x2="100" y1={height - 0.5} y2={height - 0.5} className="stroke-line" vectorEffect="non-scaling-stroke" />
      {bars.map((bar, index) => {
        const good = (bar.good / most) * (height - 2);
        const bad = (bar.bad / most) * (height - 2);
        return (
          <g key={bar.label}>
            <title>{bar.title ?? `${bar.label}: ${number(bar.good)} done, ${number(bar.bad)} failed`}</title>
            <rect x={index * width} y={0} width={width} height={height} fill="transparent" />
            <rect x={index * width + width * 0.1} y={height - good} width={width * 0.8} height={good} className="fill-accent" />
            <rect x={index * width + width * 0.1} y={height - good - bad} width={width * 0.8} height={bad} className="fill-bad" />
          </g>
        );
      })}
    </svg>
  );
}
