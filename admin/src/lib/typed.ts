// Text that is reported once typing pauses.

import { useEffect, useRef, useState } from "react";

const PAUSE_MS = 300;

/** A field's text: `value`, or what is being typed. `onPause` gets the latter once typing pauses; a `value` that comes
 * from elsewhere, such as the Back button, replaces it. */
export function useTyped(value: string, onPause: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const sent = useRef(value);
  const latest = useRef(onPause);
  useEffect(() => {
    latest.current = onPause;
  });
  useEffect(() => {
    if (timer.current !== null || value === sent.current) return;
    sent.current = value;
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
      sent.current = next.trim();
      latest.current(next.trim());
    }, PAUSE_MS);
  };
  return [text, type];
}
