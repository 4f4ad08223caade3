"use client";

import { Button, LinkButton } from "@/components/Button";
import { sayError } from "@/components/Toasts";
import { download } from "@/lib/download";
import { currentKey } from "@/lib/key";

/** The address for a feed reader. Where a key is asked for, a reader has to send it as a header, and a click here saves
 * the feed as it is now. */
export function AtomLink({ href }: { href: string }) {
  if (currentKey() === null) {
    return (
      <LinkButton href={href} plain>
        Atom feed
      </LinkButton>
    );
  }
  return (
    <Button onClick={() => void download(href, "changes.atom").catch(sayError)} title={href}>
      Atom feed
    </Button>
  );
}
