"use client";

// A price over time: it is in force until the next change, so the line goes in steps.

import { useEffect, useId, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { changeOf, marked, moveOf, pointAt, pointByKey, type Move, type PricePoint } from "@/components/priceCurve";
import { MOVES, PriceSign } from "@/components/PriceSign";
import { niceTicks, timeTicks } from "@/components/ticks";
import { timeOf } from "@/lib/format";
import { percentSize, price } from "@/lib/watch";

const HEIGHT = 260;
const EDGE = { top: 14, right: 12, bottom: 28 };
const CHARACTER_WIDTH = 7.6; // of a label, about
const TICK_ROOM = 84; // pixels for a label of the time axis
const MARK_ROOM = 16; // pixels between marks
const NO_PRICE = "no price yet";

/** `points` are the oldest first, in one currency; `label` says in words what there is to see. */
export function PriceChart({
  points,
  from,
  to,
  currency,
  label,
}: {
  points: PricePoint[];
  from: number;
  to: number;
  currency: string | null;
  label: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [at, setAt] = useState<number | null>(null); // the time under the crosshair
  const summary = useId();
  useEffect(() => {
    if (box.current === null) return;
    const watch = new ResizeObserver(
      ([entry]) => entry && setWidth(Math.max(240, Math.floor(entry.contentRect.width))),
    );
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  if (points.length === 0) return null;

  const amounts = points.map((point) => point.amount);
  const ticks = niceTicks(Math.min(...amounts), Math.max(...amounts));
  const labels = ticks.map((tick) => price(tick, currency));
  const left = 10 + CHARACTER_WIDTH * Math.max(...labels.map((each) => each.length));
  const right = width - EDGE.right;
  const [low, high] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const inside = (time: number) => Math.min(Math.max(time, from), to);
  const x = (time: number) => left + ((inside(time) - from) / (to - from)) * (right - left);
  const y = (amount: number) => EDGE.top + (1 - (amount - low) / (high - low || 1)) * (HEIGHT - EDGE.top - EDGE.bottom);
  const shown = at === null ? null : inside(at);
  const current = shown === null ? points.length - 1 : pointAt(points, shown);

  function follow(event: PointerEvent<HTMLDivElement>) {
    const place = event.clientX - event.currentTarget.getBoundingClientRect().left;
    setAt(inside(from + ((place - left) / (right - left)) * (to - from)));
  }
  function press(event: KeyboardEvent) {
    const next = pointByKey(event.key, current, points.length);
    if (next === null) return;
    event.preventDefault();
    setAt(points[next]?.at ?? null);
  }

  return (
    <div>
      <Readout points={points} at={shown} current={current} currency={currency} />
      <p id={summary} className="sr-only">
        {label}. The arrow keys go from change to change.
      </p>
      <div
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label="Price over time"
        aria-describedby={summary}
        aria-valuemin={0}
        aria-valuemax={points.length - 1}
        aria-valuenow={Math.max(current, 0)}
        aria-valuetext={wordsOf(points, shown ?? to, current, currency)}
        className="touch-pan-y rounded-lg"
        onPointerMove={follow}
        onPointerDown={follow}
        onPointerLeave={() => setAt(null)}
        onKeyDown={press}
        onBlur={() => setAt(null)}
      >
        <svg aria-hidden="true" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} className="block max-w-full">
          {ticks.map((tick, index) => (
            <g key={tick}>
              <line x1={left} x2={right} y1={y(tick)} y2={y(tick)} className="stroke-line" />
              <text x={left - 8} y={y(tick) + 4} textAnchor="end" className="fill-soft text-xs tabular-nums">
                {labels[index]}
              </text>
            </g>
          ))}
          <TimeAxis from={from} to={to} left={left} right={right} x={x} />
          <Curve points={points} to={to} x={x} y={y} />
          {shown !== null && (
            <g>
              <line x1={x(shown)} x2={x(shown)} y1={EDGE.top} y2={HEIGHT - EDGE.bottom} className="stroke-control" />
              {points[current] && (
                <circle cx={x(shown)} cy={y(points[current].amount)} r={5} className="fill-accent stroke-card" strokeWidth="2" />
              )}
            </g>
          )}
        </svg>
      </div>
    </div>
  );
}

/** What the crosshair shows, in a place of its own, so that it covers nothing. */
function Readout({
  points,
  at,
  current,
  currency,
}: {
  points: PricePoint[];
  at: number | null;
  current: number;
  currency: string | null;
}) {
  const move = moveOf(points, current);
  const point = points[current];
  return (
    <p className="min-h-12 text-sm sm:min-h-6" aria-hidden="true">
      {at === null ? (
        <span className="text-soft">
          <PriceSign move="rise" /> rise <PriceSign move="fall" /> fall
        </span>
      ) : (
        <>
          <strong className="font-semibold tabular-nums">{point ? price(point.amount, currency) : NO_PRICE}</strong> ·{" "}
          <span className="whitespace-nowrap tabular-nums">{timeOf(at)}</span>
          {move && (
            <span className={MOVES[move].text}>
              {" "}
              <PriceSign move={move} /> {changeWords(points, current)} {point && point.at < at && `on ${timeOf(point.at)}`}
            </span>
          )}
        </>
      )}
    </p>
  );
}

function changeWords(points: PricePoint[], index: number): string {
  const move = moveOf(points, index);
  const change = changeOf(points, index);
  if (move === null) return "";
  return change === null ? MOVES[move].word : `${MOVES[move].word} by ${percentSize(change)}`;
}

function wordsOf(points: PricePoint[], at: number, index: number, currency: string | null): string {
  const point = points[index];
  const words = [timeOf(at), point ? price(point.amount, currency) : NO_PRICE, changeWords(points, index)];
  return words.filter(Boolean).join(", ");
}

type Scales = { x: (at: number) => number; y: (amount: number) => number };

/** The line, with rises and falls in their colours, and a triangle for each that there is room for. */
function Curve({ points, to, x, y }: { points: PricePoint[]; to: number } & Scales) {
  const level = points.map(
    ({ at, amount }, index) => `M${x(at).toFixed(1)} ${y(amount).toFixed(1)}H${x(points[index + 1]?.at ?? to).toFixed(1)}`,
  );
  const moves = { rise: "", fall: "" };
  points.forEach(({ at, amount }, index) => {
    const move = moveOf(points, index);
    if (move) moves[move] += `M${x(at).toFixed(1)} ${y(points[index - 1]?.amount ?? 0).toFixed(1)}V${y(amount).toFixed(1)}`;
  });
  return (
    <>
      <path d={moves.rise} className={`fill-none ${MOVES.rise.line}`} strokeWidth="2" />
      <path d={moves.fall} className={`fill-none ${MOVES.fall.line}`} strokeWidth="2" />
      <path d={level.join("")} className="fill-none stroke-accent" strokeWidth="2" strokeLinecap="round" />
      {marked(points, x, MARK_ROOM).map((index) => (
        <Triangle key={index} x={x(points[index]?.at ?? 0)} y={y(points[index]?.amount ?? 0)} move={moveOf(points, index)} />
      ))}
    </>
  );
}

function Triangle({ x, y, move }: { x: number; y: number; move: Move }) {
  if (move === null) return null;
  const path = move === "rise" ? `M${x} ${y - 6}l6 10h-12z` : `M${x} ${y + 6}l6-10h-12z`;
  return <path d={path} data-move={move} className={`${MOVES[move].mark} stroke-card`} />;
}

function TimeAxis({
  from,
  to,
  left,
  right,
  x,
}: {
  from: number;
  to: number;
  left: number;
  right: number;
  x: (at: number) => number;
}) {
  return timeTicks(from, to, Math.max(2, Math.floor((right - left) / TICK_ROOM))).map(({ at, label }) => {
    const half = (label.length * CHARACTER_WIDTH) / 2;
    return (
      <g key={at}>
        <line x1={x(at)} x2={x(at)} y1={HEIGHT - EDGE.bottom} y2={HEIGHT - EDGE.bottom + 5} className="stroke-control" />
        <text
          x={Math.min(Math.max(x(at), left - 8 + half), right + EDGE.right - half)}
          y={HEIGHT - 8}
          textAnchor="middle"
          className="fill-soft text-xs tabular-nums"
        >
          {label}
        </text>
      </g>
    );
  });
}
