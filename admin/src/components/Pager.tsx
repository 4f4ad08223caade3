"use client";

import { Button } from "@/components/Button";
import { useAddress } from "@/lib/address";
import { number } from "@/lib/format";

/** Pages by number. */
export function Pager({
  page,
  pages,
  total,
  what,
  onPage,
}: {
  page: number;
  pages: number;
  total: number;
  what: string; // "runs"
  onPage: (page: number) => void;
}) {
  return (
    <nav aria-label="Pages" className="mt-4 flex flex-wrap items-center justify-between gap-3">
      <span className="text-soft tabular-nums">
        {number(total)} {what}, page {number(page)} of {number(Math.max(pages, 1))}
      </span>
      <span className="flex gap-2">
        <Button disabled={page <= 1} onClick={() => onPage(page - 1)}>
          Previous
        </Button>
        <Button disabled={page >= pages} onClick={() => onPage(page + 1)}>
          Next
        </Button>
      </span>
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

/** The same, with the cursor in the address by the list's `name`. */
export function AddressPager({ name, next }: { name: string; next: string | null }) {
  const [address, change] = useAddress();
  return (
    <CursorPager
      isFirst={!address.get(name)}
      next={next}
      onFirst={() => change({ [name]: "" })}
      onNext={(cursor) => change({ [name]: cursor })}
    />
  );
}
