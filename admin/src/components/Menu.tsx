"use client";

import { useEffect, useId, useRef, useState, type ReactNode, type ToggleEvent } from "react";
import { flushSync } from "react-dom";

const EDGE = 8; // pixels between it and the edge of the screen

/** A button, and a box that it opens. The browser closes it by Escape or a click elsewhere. */
export function Menu({
  button,
  label,
  look = "min-h-9 rounded-lg border border-control bg-card px-3 py-1 text-sm font-medium hover:border-accent hover:text-accent",
  children,
}: {
  button: ReactNode;
  label?: string; // of a button that is only a sign
  look?: string;
  children: ReactNode;
}) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const shown = box.current;
    const choose = ({ target }: MouseEvent) => {
      if (target instanceof Element && target.closest("[data-closes]")) shown?.hidePopover();
    };
    shown?.addEventListener("click", choose);
    return () => shown?.removeEventListener("click", choose);
  }, []);
  // Its content exists only while it is open: a list has many menus.
  const fill = (event: ToggleEvent<HTMLDivElement>) => {
    if (event.newState === "open") flushSync(() => setOpen(true));
  };
  const place = (event: ToggleEvent<HTMLDivElement>) => {
    setOpen(event.newState === "open");
    if (event.newState !== "open" || !opener.current || !box.current) return;
    const from = opener.current.getBoundingClientRect();
    const { offsetWidth, offsetHeight, style } = box.current;
    const most = document.documentElement.clientWidth - offsetWidth - EDGE;
    const fitsBelow = from.bottom + offsetHeight + EDGE <= window.innerHeight;
    const top = fitsBelow || from.top < offsetHeight + EDGE ? from.bottom + 4 : from.top - offsetHeight - 4;
    style.left = `${Math.max(EDGE, Math.min(from.left, most)) + window.scrollX}px`;
    style.top = `${top + window.scrollY}px`;
  };
  return (
    <>
      <button ref={opener} type="button" popoverTarget={id} aria-label={label} title={label} className={look}>
        {button}
      </button>
      <div
        ref={box}
        id={id}
        popover="auto"
        onBeforeToggle={fill}
        onToggle={place}
        className="absolute inset-auto m-0 max-h-[70vh] w-max max-w-[calc(100vw-1rem)] min-w-36 overflow-y-auto rounded-lg border border-line bg-card p-1.5 text-left text-sm text-ink shadow-card"
      >
        {isOpen && children}
      </div>
    </>
  );
}

export const MENU_ITEM = "block w-full rounded px-2.5 py-1.5 text-left whitespace-nowrap hover:bg-page hover:no-underline";

/** An entry of a menu. A click runs it and closes the menu. */
export function MenuItem({
  label,
  isDangerous = false,
  isOff = false,
  onClick,
  children,
}: {
  label?: string; // for screen readers, where the text alone says too little
  isDangerous?: boolean;
  isOff?: boolean;
  onClick: () => void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      data-closes
      className={`${MENU_ITEM} ${isDangerous ? "text-bad" : ""} aria-disabled:opacity-60`}
      aria-label={label}
      aria-disabled={isOff || undefined}
      onClick={() => {
        if (!isOff) onClick();
      }}
    >
      {children}
    </button>
  );
}
