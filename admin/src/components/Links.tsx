import Link from "next/link";
import { Fragment, type ReactNode } from "react";
import { isWebUrl } from "@/lib/format";

/** A link within the admin UI. Its page is not prefetched: tables have many links. */
export function To({
  href,
  children,
  className = "",
  isHere = false,
  onClick,
}: {
  href: string;
  children: ReactNode;
  className?: string;
  isHere?: boolean;
  onClick?: () => void;
}) {
  return (
    <Link
      href={href}
      prefetch={false}
      className={className}
      aria-current={isHere ? "page" : undefined}
      onClick={onClick}
    >
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

/** A link to another site, in a new tab. An address that is not http(s) is shown as text. */
export function Out({ url, children }: { url: string; children?: ReactNode }) {
  if (!isWebUrl(url)) return <span className="wrap-anywhere">{children ?? <UrlText url={url} />}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" className="wrap-anywhere">
      {children ?? <UrlText url={url} />}
      <span className="sr-only"> (opens in a new tab)</span>
    </a>
  );
}
