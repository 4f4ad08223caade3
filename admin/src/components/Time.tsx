"use client";

import { useEffect, useLayoutEffect, useState } from "react";
import { exactTimeOf, relative, timeOf } from "@/lib/format";
import { Followed, useFollowed } from "@/lib/store";

const TICK_MS = 5000;
const now = new Followed(0); // 0 while it has no followers
let followers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function look() {
  now.set(Date.now());
}

/** The time by the reader's clock, as it goes on. It is looked at again for a `moment` that seems to
 * lie ahead: that may have happened since the last tick. */
export function useNow(moment = 0): number {
  const [first] = useState(() => Date.now());
  useEffect(() => {
    if (followers === 0) look();
    followers += 1;
    timer ??= setInterval(look, TICK_MS);
    return () => {
      followers -= 1;
      if (followers > 0) return;
      clearInterval(timer);
      timer = undefined;
      now.set(0);
    };
  }, []);
  useLayoutEffect(() => {
    if (moment > now.get()) look();
  }, [moment]);
  return useFollowed(now, 0) || first;
}

/** A moment in the reader's zone; the exact one on hover. Null is a dash. */
export function Time({ at, ago = false }: { at: string | number | null | undefined; ago?: boolean }) {
  if (at === null || at === undefined) return <span className="text-soft">–</span>;
  return ago ? <Ago at={at} /> : <Stamp at={at} text={timeOf(at)} isLong />;
}

function Ago({ at }: { at: string | number }) {
  return <Stamp at={at} text={relative(at, useNow(new Date(at).getTime()))} />;
}

function Stamp({ at, text, isLong = false }: { at: string | number; text: string; isLong?: boolean }) {
  const wrap = isLong ? "in-[.list-row]:whitespace-normal in-[.list-row]:block in-[.list-row]:leading-4" : "";
  return (
    <time
      dateTime={new Date(at).toISOString()}
      title={exactTimeOf(at)}
      className={`whitespace-nowrap tabular-nums ${wrap}`}
    >
      {text}
    </time>
  );
}
