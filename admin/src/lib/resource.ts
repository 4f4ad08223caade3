// Data from the API, which stays on the screen while it is loaded again.

import { useCallback, useEffect, useRef, useState } from "react";
import { onReachable } from "./reachable";

export type Resource<T> = {
  data: T | undefined; // what was loaded last for this key, also while it is loaded again
  error: unknown; // of the last try; undefined once one has gone well
  isLoading: boolean; // for the first time, or for another key
  reload: () => void;
  change: (change: (data: T) => T) => void; // what is shown, until it is loaded again
  show: (data: T) => void; // data that came another way, instead of the request under way
};

/** The part of a resource that is needed to show it. */
export type Shown<T> = Pick<Resource<T>, "data" | "error" | "isLoading" | "reload">;

const LONGEST_MS = 30_000; // that an answer is waited for

type State<T> = { key: string; data: T | undefined; error: unknown; settled: boolean };

/** `key` names the data: another key loads again. `everyMs` repeats that while the tab is visible. When the API has been
 * away, the data is loaded again by itself. A null key loads nothing; while it `isHeld`, nothing changes. */
export function useResource<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  { everyMs, isHeld = false }: { everyMs?: number; isHeld?: boolean } = {},
): Resource<T> {
  const [state, setState] = useState<State<T>>({ key: "", data: undefined, error: undefined, settled: false });
  const loading = useRef<AbortController | null>(null);
  const again = useRef(false);
  const latest = useRef(load);
  useEffect(() => {
    latest.current = load;
  });

  const reload = useCallback(function reload() {
    if (key === null || isHeld) return;
    if (loading.current !== null) {
      again.current = true; // what is under way may have begun before the change
      return;
    }
    const abort = new AbortController();
    loading.current = abort;
    const settle = (change: (before: State<T>) => State<T>) => {
      if (abort.signal.aborted) return;
      loading.current = null;
      setState(change);
      if (again.current) {
        again.current = false;
        reload();
      }
    };
    latest.current(AbortSignal.any([abort.signal, AbortSignal.timeout(LONGEST_MS)])).then(
      (data) => settle(() => ({ key, data, error: undefined, settled: true })),
      (error: unknown) =>
        settle((before) => ({
          key,
          data: before.key === key ? before.data : undefined,
          error,
          settled: true,
        })),
    );
  }, [key, isHeld]);

  useEffect(() => {
    reload();
    return () => {
      loading.current?.abort();
      loading.current = null;
      again.current = false;
    };
  }, [reload]);

  useEffect(() => onReachable(reload), [reload]);

  useEffect(() => {
    if (everyMs === undefined) return;
    const look = () => {
      if (!document.hidden) reload();
    };
    const timer = setInterval(look, everyMs);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [reload, everyMs]);

  const change = useCallback((make: (data: T) => T) => {
    setState((before) => (before.data === undefined ? before : { ...before, data: make(before.data) }));
  }, []);

  const show = useCallback(
    (data: T) => {
      if (key === null) return;
      loading.current?.abort();
      loading.current = null;
      again.current = false;
      setState({ key, data, error: undefined, settled: true });
    },
    [key],
  );

  const isCurrent = key !== null && state.key === key;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: key !== null && !(isCurrent && state.settled),
    reload,
    change,
    show,
  };
}
