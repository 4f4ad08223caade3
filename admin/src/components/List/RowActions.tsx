"use client";

import Link from "next/link";
import { useState } from "react";
import { Menu, MENU_ITEM, MenuItem } from "@/components/Menu";
import { sayError } from "@/components/Toasts";
import type { Action } from "./types";

const SIGN = "inline-flex size-7 items-center justify-center rounded-md border border-line hover:border-accent hover:text-accent aria-disabled:opacity-50";

/** What can be done with a row: the first by a button with its `sign`, the others by a menu. */
export function RowActions({ of, sign, actions }: { of: string; sign?: string; actions: Action[] }) {
  const [isBusy, setBusy] = useState(false);
  const run = async ({ act, isOff }: Action) => {
    if (isBusy || isOff) return;
    setBusy(true);
    try {
      await act?.();
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  };
  const first = sign ? actions[0] : undefined;
  const others = first ? actions.slice(1) : actions;
  return (
    <span className="flex justify-end gap-1">
      {first && (
        <button
          type="button"
          className={`${SIGN} ${isBusy ? "animate-pulse" : ""}`}
          title={first.name}
          aria-label={`${first.name}: ${of}`}
          aria-disabled={first.isOff || isBusy || undefined}
          aria-busy={isBusy || undefined}
          onClick={() => run(first)}
        >
          <span aria-hidden="true">{sign}</span>
        </button>
      )}
      {others.length > 0 && (
        <Menu button={<span aria-hidden="true">⋯</span>} label={`More for ${of}`} look={SIGN}>
          {others.map((action) =>
            action.href === undefined ? (
              <MenuItem
                key={action.name}
                label={`${action.name}: ${of}`}
                isDangerous={action.isDangerous}
                isOff={action.isOff}
                onClick={() => run(action)}
              >
                {action.name}
              </MenuItem>
            ) : (
              <Link key={action.name} href={action.href} prefetch={false} className={`${MENU_ITEM} !text-ink`}>
                {action.name}
                <span className="sr-only">: {of}</span>
              </Link>
            ),
          )}
        </Menu>
      )}
    </span>
  );
}
