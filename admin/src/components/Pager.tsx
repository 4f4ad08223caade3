"use client";

import { usePathname } from "next/navigation";
import { Button } from "@/components/Button";
import { cursorSteps } from "@/components/List/trail";
import { useAddress } from "@/lib/address";

export type Steps = {
  previous: (() => void) | null; // null: there is no such page
  isToFirst?: boolean; // so it is called: the page before is not known any more
  next: (() => void) | null;
};

/** Buttons for the page before and the one after; nothing where there is only one page. */
export function Pager({ previous, isToFirst = false, next }: Steps) {
  if (previous === null && next === null) return null;
  return (
    <nav aria-label="Pages" className="flex gap-2">
      <Button disabled={previous === null} onClick={() => previous?.()}>
        {isToFirst ? "First page" : "Previous"}
      </Button>
      <Button disabled={next === null} onClick={() => next?.()}>
        Next
      </Button>
    </nav>
  );
}

/** Pages by cursor: forward one at a time, and back to the first. */
export function CursorPager({
  isFirst,
  next,
  onFirst,
  onNext,
}: {
  isFirst: boolean;
  next: string | null;
  onFirst: () => void;
  onNext: (cursor: string) => void;
}) {
  if (isFirst && next === null) return null;
  return (
    <nav aria-label="Pages" className="mt-4 flex justify-end gap-2">
      <Button disabled={isFirst} onClick={onFirst}>
        First page
      </Button>
      <Button disabled={next === null} onClick={() => next !== null && onNext(next)}>
        Next page
      </Button>
    </nav>
  );
}

/** Pages by cursor. The way to the one that is shown is in the address by the list's `name`. */
export function AddressPager({ name, next }: { name: string; next: string | null }) {
  const [address, change] = useAddress();
  const key = JSON.stringify([usePathname(), name, address.get("jobId"), address.get("url")]);
  return (
    <div className="mt-4 flex justify-end">
      <Pager {...cursorSteps(key, address.getAll(name), next, (cursors) => change({ [name]: cursors }))} />
    </div>
  );
}

/** The cursor of the page that is shown; none for the first one. */
export function cursorIn(address: URLSearchParams, name: string): string | undefined {
  return address.getAll(name).at(-1) || undefined;
}
