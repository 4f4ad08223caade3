import { ApiLink } from "@/components/ApiLink";
import { linkLook } from "@/components/Button";

/** The address for a feed reader. Where a key is required, a reader has to send it as a header. */
export function AtomLink({ href }: { href: string }) {
  return (
    <ApiLink href={href} file="changes.atom" className={linkLook("plain")}>
      Atom feed
    </ApiLink>
  );
}
