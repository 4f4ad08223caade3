// When a bulk action asks first, and what it says about undoing it.

import { MOST_UNDONE } from "@/lib/bulk";
import { number } from "@/lib/format";
import type { BulkAction } from "./types";

const MOST_UNASKED = 20; // items

type Asked = Pick<BulkAction, "isUndoable" | "isAlwaysAsked">;

/** `count` is null where it is not known how many there are. */
export function isAskedFor(action: Asked, count: number | null): boolean {
  return count === null || count > MOST_UNASKED || !action.isUndoable || action.isAlwaysAsked === true;
}

export function undoWords({ isUndoable }: Asked, count: number | null): string {
  if (!isUndoable) return "This can't be undone.";
  if (count !== null && count <= MOST_UNDONE) return "You can undo it afterwards.";
  return `If more than ${number(MOST_UNDONE)} change, this can't be undone.`;
}
