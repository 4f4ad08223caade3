import Link from "next/link";
import { Fragment, type ReactNode } from "react";
import { isWebUrl } from "@/lib/format";

/** Within the admin UI. Not loaded before it is asked for: tables have many of them. */
export function To({ href, children, className = "" }: { href: string; children: ReactNode; className?: string }) {
  return (
    <Link href={href} prefetch={false} className={className}>
      {children}
    </Link>
  );
}

const LONGEST_BROKEN = 300; // characters of a URL that are looked at

/** A URL, or a name that may be one, that breaks where its parts end, as long as those fit. */
export function UrlText({ url }: { url: string }) {
  const parts = url.slice(0, LONGEST_BROKEN).split(/(?<=[/?&])(?=[^/?&])/);
  return (
    <>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
      {url.slice(LONGEST_BROKEN)}
    </>
  );
}

/** An address of somebody else, opened apart; one that is not http(s) is text. */
export function Out({ url, children }: { url: string; children?: ReactNode }) {
  if (!isWebUrl(url)) return <span className="wrap-anywhere">{children ?? <UrlText url={url} />}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" className="wrap-anywhere">
      {children ?? <UrlText url={url} />}
      <span className="sr-only"> (opens in a new tab)</span>
    </a>
  );
}
