import { startTransition, useCallback, useLayoutEffect, useOptimistic, useRef } from "react";
import { useAddress } from "@/lib/address";
import { changed, type Given } from "@/lib/path";
import { givenOf, listQueryIn, type ListQuery } from "./listQuery";
import type { Change } from "./Toolbar";
import type { Column, Filter } from "./types";

export type Listing<T> = { asked: ListQuery; change: Change; columns: Column<T>[]; filters: Filter[]; prefix: string };

/** What the address asks of a list, and the way to change it. `prefix` tells lists of one screen apart. */
export function useList<T>(columns: Column<T>[], filters: Filter[] = [], prefix = ""): Listing<T> {
  const [address, go] = useAddress();
  const [search, setSearch] = useOptimistic(address.toString()); // the address follows a moment later
  const latest = useRef(search); // a change before the address has followed must not undo the one before
  useLayoutEffect(() => {
    latest.current = search;
  }, [search]);
  const change = useCallback(
    (given: Given, how?: "push" | "replace") => {
      const all = givenOf(given, prefix);
      const before = latest.current;
      const after = changed("", before, all).slice(1);
      latest.current = after;
      startTransition(() => {
        setSearch(after);
        go(all, how, before);
      });
    },
    [go, prefix, setSearch],
  );
  const names = filters.map(({ name }) => name);
  const sorts = columns.flatMap(({ sort }) => sort ?? []);
  return { asked: listQueryIn(new URLSearchParams(search), prefix, names, sorts), change, columns, filters, prefix };
}
