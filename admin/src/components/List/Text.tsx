import type { ReactNode } from "react";
import { To } from "@/components/Links";
import { isWebUrl, shortUrl } from "@/lib/format";
import { TagList } from "./Tags";

const LINE = "block truncate group-data-card/row:whitespace-normal group-data-card/row:wrap-anywhere";

/** One line in a row, which ends with … where it does not fit; whole on a card, and on hover. */
export function Line({ children, title, className = "" }: { children: ReactNode; title?: string; className?: string }) {
  return (
    <span className={`${LINE} ${className}`} title={title ?? (typeof children === "string" ? children : undefined)}>
      {children}
    </span>
  );
}

/** Why something failed: all of it, below a row. */
export function Reason({ children }: { children: ReactNode }) {
  return <p className="text-xs leading-4 text-bad wrap-anywhere">{children}</p>;
}

const TAIL = 18; // characters at the end of a URL, which tell most
const HOST = /^(https?:\/\/)?[^/]*/;

/** A URL on one line, cut in its path, not in its host, where it does not fit; whole on a card and for screen readers. */
function Cut({ text, more = "" }: { text: string; more?: string }) {
  const host = HOST.exec(text)?.[0].length ?? 0;
  const tail = Math.max(host, text.length - TAIL);
  return (
    <>
      <span className="sr-only group-data-card/row:not-sr-only group-data-card/row:wrap-anywhere">
        {text}
        {more}
      </span>
      <span aria-hidden="true" className="flex group-data-card/row:hidden">
        <span className="max-w-full shrink-0 truncate">{text.slice(0, host)}</span>
        {tail > host && <span className="min-w-5 shrink-[9999] truncate">{text.slice(host, tail)}</span>}
        <span className="truncate">{text.slice(tail)}</span>
        {more && <span className="shrink-0 whitespace-pre">{more}</span>}
      </span>
    </>
  );
}

/** What a row is about. The URL tells those of the same name apart; `more` says how many others there are. */
export function Named({
  href,
  name,
  url,
  more = "",
  tags = [],
}: {
  href: string;
  name: string;
  url?: string;
  more?: string;
  tags?: string[];
}) {
  const address = url === undefined || url === name ? "" : shortUrl(url);
  return (
    <span className="block min-w-0 leading-5">
      <span className="flex items-center gap-1.5 group-data-card/row:flex-wrap">
        <To href={href} className="block min-h-6 max-w-full min-w-0 leading-6 font-medium">
          {isWebUrl(name) ? <Cut text={name} /> : <Line>{name}</Line>}
        </To>
        <TagList tags={tags} />
      </span>
      {(address || more) && (
        <span className="-mt-1 block text-xs leading-4 font-normal text-soft" title={url}>
          <Cut text={address} more={more} />
        </span>
      )}
    </span>
  );
}
