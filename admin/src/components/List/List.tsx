"use client";

import { usePathname } from "next/navigation";
import { useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { flushSync } from "react-dom";
import { Button } from "@/components/Button";
import { Pager, type Steps } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import { counted, number } from "@/lib/format";
import type { Shown } from "@/lib/resource";
import { cleared, isFiltered, nextSort } from "./listQuery";
import { BulkBar, Failures, type Chosen } from "./BulkBar";
import { chosenOf, templateOf, TICK, widthOf } from "./columns";
import { Rows, type RowsProps } from "./Rows";
import { NONE, pageToggled, toggled, type Selection } from "./selection";
import { Toolbar, type ToolbarProps } from "./Toolbar";
import { totalOf, totalWords, type Total } from "./total";
import { cursorSteps } from "./trail";
import type { BulkAction, Rows as Page } from "./types";
import { useBulk } from "./useBulk";

const ACTIONS = 72; // pixels of the column with two signs
const TIGHT = 600; // pixels below which filters are in a menu
const BAR = 1000; // pixels that the buttons for selected rows need

export type ListProps<T> = Omit<RowsProps<T>, "rows"> &
  ToolbarProps<T> & {
    what: [one: string, many: string];
    from: Shown<Page<T>>;
    usualSort?: string; // the order when none is asked for
    actionsWidth?: number;
    bulk?: {
      path: string; // of the API, which says how far it is
      actions: BulkAction[];
      ids?: string; // the name for the selected keys in the body
      idsOf?: (keys: string[]) => string[]; // where it acts on something else than the rows
      what?: [one: string, many: string]; // that it acts on
      filter: object | null; // that matches everything in the list; null: the API has none
      onDone?: () => void;
    };
    empty: ReactNode; // there is nothing, whatever is asked for
    noMatch?: ReactNode; // a hint
    nothing?: ReactNode; // instead of either
    pages?: { page: number; pages: number; onPage: (page: number) => void }; // where pages have numbers instead of cursors
  };

/** A list with search, filters, columns, sorting, pages, selection, bulk actions and export, as far as the screen
 * declares them. Everything but the selection is in the address. */
export function List<T>(props: ListProps<T>) {
  const { name, columns, asked, change, from, what, keyOf, usualSort = "", bulk, actions } = props;
  const path = usePathname();
  const box = useRef<HTMLElement>(null);
  const width = useWidth(box);
  const [selection, setSelection] = useState(NONE);
  const last = useRef<number | null>(null);
  const query = JSON.stringify([asked.q, asked.tag, asked.filters]);
  const [followed, setFollowed] = useState(query);
  if (followed !== query) {
    setFollowed(query);
    setSelection(NONE); // what is selected has to be in what is shown
  }
  const action = useBulk(`${path} ${name}`, bulk?.path ?? "", bulk?.what ?? what, (outcome) => {
    const failed = bulk?.idsOf ? [] : (outcome?.failures ?? []).filter(({ skipped }) => !skipped).map(({ id }) => id);
    if (outcome?.end === "done") setSelection({ keys: new Set(failed), isAll: false });
    from.reload();
    bulk?.onDone?.();
  });

  const chosen = chosenOf(columns, asked.columns);
  const tick = bulk ? TICK : 0;
  const acts = actions ? (props.actionsWidth ?? ACTIONS) : 0;
  const isCards = width < widthOf(chosen, tick + acts);
  const sort = asked.sort || usualSort;
  const turn = (go: () => void) => {
    go();
    last.current = null;
    if ((box.current?.getBoundingClientRect().top ?? 0) < 0) box.current?.scrollIntoView();
  };

  const { pages } = props;
  /** What leads to the page before and to the one after; null where there is no such page. */
  const steps = (next: string | null): Steps => {
    if (pages) {
      const to = (page: number) => (page >= 1 && page <= pages.pages ? () => turn(() => pages.onPage(page)) : null);
      return { previous: to(pages.page - 1), next: to(pages.page + 1) };
    }
    const key = JSON.stringify([path, name, query, sort]);
    return cursorSteps(key, asked.cursors, next, (cursor) => turn(() => change({ cursor })));
  };

  const hasSelection = bulk !== undefined && (selection.isAll || selection.keys.size > 0 || action.progress !== null);
  return (
    <section ref={box} aria-label={name} className="rounded-xl border border-line bg-card shadow-card">
      <Toolbar {...props} sort={sort} isCards={isCards} isTight={width < TIGHT} />
      <Failures bulk={action} />
      <div aria-busy={from.isLoading} className={from.data ? "" : "p-4"}>
        <Loaded from={from} lines={12}>
          {(page) => {
            const total = totalOf(page, asked.cursors.length === 0 && !pages);
            const keys = page.data.map(keyOf);
            const hasMore = pages ? pages.pages > 1 : page.nextCursor !== null || asked.cursors.length > 0;
            return (
              <>
                <div className="sticky top-14 z-20 flex min-h-11 flex-wrap items-center gap-2 bg-card px-3 py-1">
                  {hasSelection && bulk ? (
                    <BulkBar
                      actions={bulk.actions}
                      bulk={action}
                      isNarrow={width < BAR}
                      isLoading={from.isLoading}
                      chosen={selection.isAll ? allOf(bulk.filter, page.at, total, what) : chosenBy(selection, bulk, what)}
                      all={total === null ? "all that match" : `all ${totalWords(total, what)}`}
                      onAll={bulk.filter && hasMore && !selection.isAll ? () => setSelection({ keys: new Set(keys), isAll: true }) : null}
                      onClear={() => setSelection(NONE)}
                      onRun={action.run}
                    />
                  ) : (
                    <span className="text-sm text-soft tabular-nums">
                      {total === null ? "Total not known" : totalWords(total, what)}
                      {props.pages && `, page ${number(props.pages.page)} of ${number(props.pages.pages)}`}
                    </span>
                  )}
                  <span className="ml-auto" />
                  <Pager {...steps(page.nextCursor)} />
                </div>
                {page.data.length > 0 ? (
                  <Rows
                    {...props}
                    columns={chosen}
                    rows={page.data}
                    isCards={isCards}
                    template={templateOf(chosen, tick, acts)}
                    sort={sort}
                    onSort={(by) => change({ sort: nextSort(sort, by) })}
                    selection={bulk ? selection : null}
                    onSelect={(index, isRange) => {
                      setSelection(toggled(selection, keys, index, isRange ? last.current : null));
                      last.current = index;
                    }}
                    onSelectPage={() => setSelection(pageToggled(selection, keys))}
                  />
                ) : (
                  <div className="px-4">
                    <Nothing {...props} hasMore={page.nextCursor !== null} />
                  </div>
                )}
              </>
            );
          }}
        </Loaded>
      </div>
    </section>
  );
}

function Nothing<T>({ asked, change, what, empty, noMatch, nothing, hasMore }: ListProps<T> & { hasMore: boolean }) {
  if (nothing) return nothing;
  if (hasMore) return <Empty title="Nothing found so far">There is more to search on the next page.</Empty>;
  if (isFiltered(asked) || asked.cursors.length > 0) {
    return (
      <Empty title={`No matching ${what[1]}`}>
        {noMatch}
        <Button onClick={() => change(cleared(asked))}>Clear the filters</Button>
      </Empty>
    );
  }
  return empty;
}

/** All that match. If more do by the time of the action, nobody has seen them, and the server does nothing. Where it is
 * not known how many there are, it leaves alone what has come since the list was read. */
function allOf(filter: object | null, at: string | undefined, total: Total | null, what: [string, string]): Chosen {
  const words = `all ${total === null ? what[1] : totalWords(total, what)}`;
  if (total?.isExact) return { words, count: total.count, which: { filter, atMost: total.count } };
  return { words, count: null, which: { filter: at === undefined ? filter : { ...filter, before: at } } };
}

function chosenBy<T>({ keys }: Selection, { ids = "ids", idsOf }: NonNullable<ListProps<T>["bulk"]>, what: [string, string]): Chosen {
  const given = [...keys];
  return { words: counted(keys.size, ...what), count: keys.size, which: { [ids]: idsOf ? idsOf(given) : given } };
}

/** The width of the list in pixels, also after it changes. */
function useWidth(box: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measured = box.current;
    if (measured === null) return;
    const look = () => setWidth(measured.clientWidth);
    // Rows must not be painted as cards first. The observer alone would be too late for a list that is rendered in the
    // callback of another one: its first call comes a frame later.
    look();
    const observer = new ResizeObserver(() => flushSync(look));
    observer.observe(measured);
    return () => observer.disconnect();
  }, [box]);
  return width;
}
