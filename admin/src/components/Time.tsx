"use client";

import { useEffect } from "react";
import { exactTimeOf, relative, timeOf } from "@/lib/format";
import { Followed, useFollowed } from "@/lib/store";

const now = new Followed(0);
let followers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function useNow(): number {
  useEffect(() => {
    now.set(Date.now());
    followers += 1;
    timer ??= setInterval(() => now.set(Date.now()), 5000);
    return () => {
      followers -= 1;
      if (followers === 0) {
        clearInterval(timer);
        timer = undefined;
      }
    };
  }, []);
  return useFollowed(now, 0) || Date.now();
}

/** A moment in the reader's zone; the exact one on hover. Null is a dash. */
export function Time({ at, ago = false }: { at: string | number | null | undefined; ago?: boolean }) {
  if (at === null || at === undefined) return <span className="text-soft">–</span>;
  return ago ? <Ago at={at} /> : <Stamp at={at} text={timeOf(at)} />;
}

function Ago({ at }: { at: string | number }) {
  const known = useNow();
  // What has happened since the clock was last looked at does not lie ahead.
  const now = new Date(at).getTime() > known ? Date.now() : known;
  return <Stamp at={at} text={relative(at, now)} />;
}

function Stamp({ at, text }: { at: string | number; text: string }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={exactTimeOf(at)} className="whitespace-nowrap tabular-nums">
      {text}
    </time>
  );
}
