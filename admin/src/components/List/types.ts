import type { ComponentType, ReactNode } from "react";

export type Column<T> = {
  id: string; // in the address, and in an export
  name: string;
  cell: (row: T) => ReactNode; // null: there is nothing to show
  width: number; // the pixels that it needs at least
  grow?: number; // its share of the room that is left
  isNumber?: boolean;
  sort?: string; // the API's name for its order
  isExtra?: boolean; // shown only when it is chosen
  isWide?: (row: T) => boolean; // on a card it takes a whole line
  exported?: string[]; // the names of its values in an export, where they differ from its id
};

/** A page of the API's list. The total may be unknown, or the least that there are. */
export type Rows<T> = {
  data: T[];
  nextCursor: string | null;
  total?: number | null;
  totalIsExact?: boolean;
  at?: string; // when it was read
};

export type Filter = { name: string; label: string } & (
  | { kind: "choice"; any: string; options: [value: string, words: string][] }
  | { kind: "text" }
  | { kind: "day" }
);

/** What can be done with one row. The first is a button of its own, the others are in a menu. */
export type Action = {
  name: string;
  href?: string;
  act?: () => unknown; // a promise keeps the button busy
  isDangerous?: boolean;
  isOff?: boolean;
};

/** `undo` says whether what it does can be undone. */
export type BulkForm = ComponentType<{
  count: string;
  undo: string;
  onGo: (body: object) => void;
  onClose: () => void;
}>;

/** What can be done with many rows, in one request. */
export type BulkAction = {
  name: string;
  body?: object;
  Form?: BulkForm; // asks first, and makes the body
  about?: string; // what it does: for the question before it
  isUndoable?: boolean; // by what the API answers
  isAlwaysAsked?: boolean; // however few they are
  isDangerous?: boolean;
  done: string; // "paused": what has happened to them
};
