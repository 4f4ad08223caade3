"use client";

import { Button, LinkButton } from "@/components/Button";
import { sayError } from "@/components/Toasts";
import { apiAddress, IS_API_ELSEWHERE } from "@/lib/config";
import { download } from "@/lib/download";
import { currentKey } from "@/lib/key";

/** The address for a feed reader. Where a key is asked for, a reader has to send it as a header, and a click here saves
 * the feed as it is now; so it does where the API is elsewhere, as that refuses links. */
export function AtomLink({ href }: { href: string }) {
  if (currentKey() === null && !IS_API_ELSEWHERE) {
    return (
      <LinkButton href={href} plain>
        Atom feed
      </LinkButton>
    );
  }
  return (
    <Button onClick={() => void download(href, "changes.atom").catch(sayError)} title={apiAddress(href)}>
      Atom feed
    </Button>
  );
}
