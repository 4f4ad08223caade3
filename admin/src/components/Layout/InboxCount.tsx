"use client";

import { useEffect } from "react";
import { useCounting, useInboxCounts } from "@/lib/inbox";
import { useKeyWanted } from "@/lib/key";
import { waitingWords } from "@/lib/format";

const MARK = /^\([^)]*\) /;

/** Counts what waits in the inbox, and puts it in front of the tab's title. */
export function InboxCount() {
  useCounting(useKeyWanted());
  const counts = useInboxCounts();
  const mark = counts && counts.unread > 0 ? `(${waitingWords(counts.unread, counts.unreadIsExact)}) ` : "";
  useEffect(() => {
    const put = () => {
      const title = mark + document.title.replace(MARK, "");
      if (document.title !== title) document.title = title;
    };
    put();
    const observer = new MutationObserver(put); // each page has a title of its own
    observer.observe(document.head, { childList: true, subtree: true, characterData: true });
    return () => observer.disconnect();
  }, [mark]);
  return null;
}
