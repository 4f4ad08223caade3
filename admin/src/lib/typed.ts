// What is being typed, told when the typing pauses.

import { useEffect, useRef, useState } from "react";

const PAUSE_MS = 300;

/** A field's text: `value` as it counts, or what is being typed. `onPause` is told of the latter
 * once; a `value` that comes from elsewhere (the Back button) takes its place. */
export function useTyped(value: string, onPause: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const told = useRef(value);
  const latest = useRef(onPause);
  useEffect(() => {
    latest.current = onPause;
  });
  useEffect(() => {
    if (timer.current !== null || value === told.current) return;
    told.current = value;
    setText(value);
  }, [value]);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );
  const type = (next: string) => {
    setText(next);
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = null;
      told.current = next.trim();
      latest.current(next.trim());
    }, PAUSE_MS);
  };
  return [text, type];
}
