import Link from "next/link";
import type { ComponentProps, MouseEvent, ReactNode } from "react";

type Kind = "primary" | "plain" | "danger";

const LOOKS: Record<Kind, string> = {
  primary: "border-accent bg-accent text-accent-ink hover:bg-accent-strong hover:border-accent-strong",
  plain: "border-control bg-card text-ink hover:border-accent hover:text-accent",
  danger: "border-bad bg-card text-bad hover:bg-bad-pale",
};
const SHAPE =
  "inline-flex min-h-9 items-center justify-center gap-2 rounded-lg border px-3 py-1 text-sm font-medium whitespace-nowrap hover:no-underline aria-disabled:cursor-default aria-disabled:opacity-60";

type Props = ComponentProps<"button"> & { kind?: Kind; isBusy?: boolean };

/** While `isBusy` or `disabled` it keeps its place, its width and the focus, and does nothing: the
 * browser's own `disabled` would take the focus away from who has just pressed it. */
export function Button({
  kind = "plain",
  isBusy = false,
  type = "button",
  className = "",
  disabled = false,
  onClick,
  ...rest
}: Props) {
  const isOff = disabled || isBusy;
  const act = (event: MouseEvent<HTMLButtonElement>) => {
    if (isOff) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button
      type={type}
      className={`${SHAPE} ${LOOKS[kind]} ${isBusy ? "animate-pulse" : ""} ${className}`}
      aria-disabled={isOff || undefined}
      onClick={act}
      aria-busy={isBusy || undefined}
      {...rest}
    />
  );
}

/** The look of a button, for a link. */
export function linkLook(kind: Kind): string {
  return `${SHAPE} ${LOOKS[kind]} ${kind === "primary" ? "!text-accent-ink" : "!text-ink hover:!text-accent"}`;
}

/** A link that looks like a button. `download` and addresses of the API are plain links. */
export function LinkButton({
  href,
  kind = "plain",
  children,
  plain = false,
}: {
  href: string;
  kind?: Kind;
  children: ReactNode;
  plain?: boolean;
}) {
  const look = linkLook(kind);
  return plain ? (
    <a href={href} className={look}>
      {children}
    </a>
  ) : (
    <Link href={href} prefetch={false} className={look}>
      {children}
    </Link>
  );
}
