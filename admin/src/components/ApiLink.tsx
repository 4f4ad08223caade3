"use client";

import type { ReactNode } from "react";
import { sayError } from "@/components/Toasts";
import { apiAddress, IS_API_ELSEWHERE } from "@/lib/config";
import { download } from "@/lib/download";
import { currentKey } from "@/lib/key";

/** A file of the API, which the browser saves or shows. Where a key is required, a link can't send it, and a click saves the file instead; so it does
 * where the API is elsewhere, as that refuses links. */
export function ApiLink({
  href,
  file,
  isDownload = false,
  className,
  children,
}: {
  href: string;
  file: string;
  isDownload?: boolean; // never shown: whatever is typed on this page stays
  className: string;
  children: ReactNode;
}) {
  if (currentKey() === null && !IS_API_ELSEWHERE) {
    return (
      <a href={href} download={isDownload || undefined} className={className}>
        {children}
      </a>
    );
  }
  const save = () => void download(href, file).catch(sayError);
  return (
    <button type="button" className={className} onClick={save} title={apiAddress(href)}>
      {children}
    </button>
  );
}
