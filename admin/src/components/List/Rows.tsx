"use client";

import { useRouter } from "next/navigation";
import { memo, useEffect, useMemo, useRef, useState, type MouseEvent as Click, type ReactNode } from "react";
import { useKeyed } from "./keys";
import { isSelected, type Selection } from "./selection";
import type { Column } from "./types";
import { useVirtual } from "./useVirtual";

const MARKED_MS = 1500;
const ROW = 37; // pixels, before any is measured
const CARD = 150;

export type RowsProps<T> = {
  name: string;
  columns: Column<T>[];
  rows: T[];
  keyOf: (row: T) => string;
  nameOf: (row: T) => string;
  actions?: (row: T) => ReactNode;
  below?: (row: T) => ReactNode; // more of a row, on lines of its own
  hrefOf?: (row: T) => string; // a click anywhere on the row opens it
  stampOf?: (row: T) => string; // when it changes, the row is marked for a moment
  fresh?: ReadonlySet<string>; // rows that have just come are marked too
};

type Props<T> = RowsProps<T> & {
  isCards: boolean;
  template: string; // of the grid's columns
  sort: string;
  onSort: (by: string) => void;
  selection: Selection | null; // null: nothing can be selected
  onSelect: (index: number, isRange: boolean) => void;
  onSelectPage: () => void;
};

/** A virtualised table: only the rows in sight are in the document. Where the columns have no room, each row is a card. */
export function Rows<T>(props: Props<T>) {
  const { name, rows, keyOf, isCards, fresh } = props;
  const box = useRef<HTMLDivElement>(null);
  const keys = useMemo(() => rows.map(keyOf), [rows, keyOf]);
  const { parts, measure, keep } = useVirtual(box, keys, isCards ? CARD : ROW);
  useKeyed(box, keep);
  return (
    <div role="table" aria-label={name} aria-rowcount={rows.length + 1}>
      <Heads {...props} keys={keys} />
      <div ref={box} role="rowgroup" className="border-t border-line">
        {parts.map((part, place) => {
          if ("gap" in part) {
            const where = place === 0 ? "above" : place === parts.length - 1 ? "below" : "between";
            return <Gap key={where} height={part.gap} />;
          }
          const row = rows[part.row] as T;
          const id = keyOf(row);
          return (
            <Row
              {...props}
              key={id}
              id={id}
              row={row}
              index={part.row}
              measure={measure}
              isNew={fresh?.has(id) ?? false}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Takes the place of rows that are left out. The page's policy allows styles set by a script. */
function Gap({ height }: { height: number }) {
  return <div aria-hidden="true" style={{ height }} />;
}

function Heads<T>({ columns, isCards, template, sort, onSort, selection, onSelectPage, actions, keys }: Props<T> & { keys: string[] }) {
  const chosen = selection ? keys.filter((key) => isSelected(selection, key)).length : 0;
  return (
    <div role="rowgroup" className={isCards ? "" : "sticky top-[6.25rem] z-10 bg-card"}>
      <div
        role="row"
        aria-rowindex={1}
        className={isCards ? "px-1" : "grid items-center px-2 text-soft"}
        style={isCards ? undefined : { gridTemplateColumns: template }}
      >
        {selection && (
          <div role="columnheader">
            <Tick
              label="Select all on this page"
              isShown={isCards}
              isOn={chosen > 0 && chosen === keys.length}
              isSome={chosen > 0 && chosen < keys.length}
              onTick={onSelectPage}
            />
          </div>
        )}
        {columns.map((column) => (
          <div
            key={column.id}
            role="columnheader"
            aria-sort={sortOf(column, sort)}
            className={isCards ? "sr-only" : `truncate px-1.5 py-1.5 text-[0.8125rem] font-medium ${column.isNumber ? "text-right" : ""}`}
          >
            {column.sort === undefined || isCards ? (
              column.name
            ) : (
              <button
                type="button"
                className="min-h-6 max-w-full truncate rounded hover:text-accent"
                onClick={() => onSort(column.sort as string)}
              >
                {column.name}
                <span aria-hidden="true"> {{ ascending: "↑", descending: "↓", none: "↕" }[sortOf(column, sort) ?? "none"]}</span>
              </button>
            )}
          </div>
        ))}
        {actions && (
          <div role="columnheader" className="sr-only">
            Actions
          </div>
        )}
      </div>
    </div>
  );
}

function sortOf<T>(column: Column<T>, sort: string): "ascending" | "descending" | "none" | undefined {
  if (column.sort === undefined) return undefined;
  if (sort === column.sort) return "ascending";
  return sort === `-${column.sort}` ? "descending" : "none";
}

type RowProps<T> = Props<T> & {
  row: T;
  id: string;
  index: number;
  isNew: boolean;
  measure: (row: HTMLElement | null) => void;
};

function PlainRow<T>(props: RowProps<T>) {
  const { row, id, index, columns, nameOf, isCards, template, selection, onSelect, actions, below, hrefOf, stampOf, measure, isNew } = props;
  const router = useRouter();
  const stamp = stampOf?.(row) ?? "";
  const isMarked = useMark(stamp, isNew);
  const isOn = selection !== null && isSelected(selection, id);
  const open = (event: Click) => {
    const isControl = event.target instanceof Element && event.target.closest("a, button, label, input, summary, [popover]");
    const isSelecting = window.getSelection()?.isCollapsed === false;
    if (hrefOf && !isControl && !isSelecting) router.push(hrefOf(row));
  };
  const look = isMarked || isOn ? "bg-accent-pale/60" : "transition-colors duration-1000 hover:bg-page";
  const [main, ...others] = columns;
  const more = below?.(row);
  return (
    // With the keyboard, a row is opened by its link.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      ref={measure}
      role="row"
      aria-rowindex={index + 2}
      data-key={id}
      data-index={index}
      data-stamp={stamp || undefined}
      onClick={open}
      data-card={isCards || undefined}
      className={`group/row list-row border-b border-line text-[0.8125rem] ${hrefOf ? "cursor-pointer" : ""} ${look} ${isCards ? "flex flex-wrap items-start gap-x-1 px-1 py-2" : "grid min-h-9 items-center px-2"}`}
      style={isCards ? undefined : { gridTemplateColumns: template }}
    >
      {selection && (
        <div role="cell">
          <Tick label={`Select ${nameOf(row)}`} isOn={isOn} onTick={(isRange) => onSelect(index, isRange)} />
        </div>
      )}
      <div role="rowheader" className={isCards ? "min-w-0 flex-1 self-center px-1 font-medium wrap-anywhere" : "min-w-0 px-1.5"}>
        {main?.cell(row)}
      </div>
      {isCards && actions && <div role="cell">{actions(row)}</div>}
      <Cells isCards={isCards}>
        {others.map((column) => (
          <Cell key={column.id} column={column} row={row} isCard={isCards} />
        ))}
      </Cells>
      {!isCards && actions && (
        <div role="cell" className="justify-self-end">
          {actions(row)}
        </div>
      )}
      {more && (
        <div role="cell" className={`min-w-0 ${isCards ? "basis-full px-1" : "col-span-full px-1.5 pb-1"}`}>
          {more}
        </div>
      )}
    </div>
  );
}

/** While the page scrolls, rows that stay are not rendered again. */
const Row = memo(PlainRow) as typeof PlainRow;

/** On a card they have a grid of their own. */
function Cells({ isCards, children }: { isCards: boolean; children: ReactNode }) {
  if (!isCards) return children;
  return (
    <div role="none" className="grid basis-full grid-cols-2 gap-x-3 gap-y-1 px-1 pt-1 sm:grid-cols-3">
      {children}
    </div>
  );
}

function Cell<T>({ column, row, isCard }: { column: Column<T>; row: T; isCard: boolean }) {
  const shown = column.cell(row);
  if (isCard) {
    return (
      <div role="cell" className={`min-w-0 wrap-anywhere ${column.isWide?.(row) ? "col-span-full" : ""} ${shown === null ? "hidden" : ""}`}>
        <div className="text-xs text-soft">{column.name}</div>
        {shown}
      </div>
    );
  }
  return (
    <div role="cell" className={`min-w-0 px-1.5 ${column.isNumber ? "truncate text-right tabular-nums" : ""}`}>
      {shown ?? <span className="text-soft">–</span>}
    </div>
  );
}

/** A checkbox with room for a finger. Shift selects the rows in between too. */
function Tick({
  label,
  isOn,
  isSome = false,
  isShown = false,
  onTick,
}: {
  label: string;
  isOn: boolean;
  isSome?: boolean;
  isShown?: boolean; // its label is seen, not only read aloud
  onTick: (isRange: boolean) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current) input.current.indeterminate = isSome;
  }, [isSome]);
  return (
    <label className="inline-flex min-h-7 min-w-7 items-center gap-2 px-1.5 text-sm select-none">
      <input
        ref={input}
        type="checkbox"
        className="size-4 accent-[var(--accent)]"
        checked={isOn}
        onChange={(event) => onTick((event.nativeEvent as MouseEvent).shiftKey)}
      />
      <span className={isShown ? "" : "sr-only"}>{label}</span>
    </label>
  );
}

/** True for a moment after each change. */
function useMark(stamp: string, isNew: boolean): boolean {
  const [isMarked, setMarked] = useState(isNew);
  const before = useRef(isNew ? "" : stamp);
  useEffect(() => {
    if (before.current === stamp) return;
    before.current = stamp;
    setMarked(true);
    const timer = setTimeout(() => setMarked(false), MARKED_MS);
    return () => clearTimeout(timer);
  }, [stamp]);
  return isMarked;
}
