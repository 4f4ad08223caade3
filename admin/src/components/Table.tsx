import type { ReactNode, TdHTMLAttributes, ThHTMLAttributes } from "react";

/** A table that scrolls sideways by itself where the screen is narrow. `label` is read aloud. */
export function Table({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="scroll-cue relative -mx-4 overflow-x-auto sm:-mx-5" role="region" aria-label={label} tabIndex={0}>
      <table className="w-full border-collapse text-left">{children}</table>
    </div>
  );
}

export function Th({ isNumber = false, className = "", ...rest }: ThHTMLAttributes<HTMLTableCellElement> & { isNumber?: boolean }) {
  return (
    <th
      scope="col"
      className={`border-b border-line px-4 py-2 text-sm sm:first:pl-5 sm:last:pr-5 font-medium whitespace-nowrap text-soft ${isNumber ? "text-right" : ""} ${className}`}
      {...rest}
    />
  );
}

export function Td({ isNumber = false, className = "", ...rest }: TdHTMLAttributes<HTMLTableCellElement> & { isNumber?: boolean }) {
  return (
    <td
      className={`border-b border-line px-4 py-2 align-top sm:first:pl-5 sm:last:pr-5 ${isNumber ? "text-right whitespace-nowrap tabular-nums" : ""} ${className}`}
      {...rest}
    />
  );
}

/** The column heads, in this order. */
export function Head({ columns }: { columns: Record<string, "text" | "number"> }) {
  return (
    <thead>
      <tr>
        {Object.entries(columns).map(([name, kind]) => (
          <Th key={name} isNumber={kind === "number"}>
            {name}
          </Th>
        ))}
      </tr>
    </thead>
  );
}

/** Names and values, one below the other. */
export function Facts({ items }: { items: [string, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-1 gap-x-6 sm:grid-cols-[max-content_1fr] sm:gap-y-2">
      {items.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft">{name}</dt>
          <dd className="mb-2 min-w-0 wrap-anywhere sm:mb-0">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
