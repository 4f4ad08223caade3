import type { ReactNode } from "react";

/** Text of a page, as text, in a box that scrolls. */
export function TextBox({ label, children }: { label: string; children: ReactNode }) {
  return (
    <pre
      role="region"
      aria-label={label}
      tabIndex={0}
      dir="auto"
      className={
        "max-h-96 overflow-auto rounded-lg border border-line bg-page p-3 text-sm whitespace-pre-wrap wrap-anywhere"
      }
    >
      {children}
    </pre>
  );
}
