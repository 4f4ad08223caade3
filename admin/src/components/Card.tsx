import type { ReactNode } from "react";

/** A white card with a soft shadow. With a title it is a section of the page; with an `id` it can be gone to. */
export function Card({
  id,
  title,
  actions,
  children,
  className = "",
}: {
  id?: string;
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section id={id} className={`rounded-xl border border-line bg-card p-4 shadow-card sm:p-5 ${className}`}>
      {(title || actions) && (
        <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
          {title && <h2 tabIndex={id ? -1 : undefined}>{title}</h2>}
          {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** One figure with its name. */
export function Figure({ name, children, hint }: { name: string; children: ReactNode; hint?: string }) {
  return (
    <div className="rounded-xl border border-line bg-card p-4 shadow-card">
      <dt className="text-sm text-soft">{name}</dt>
      <dd className="mt-1 text-2xl font-semibold wrap-anywhere tabular-nums">{children}</dd>
      {hint && <dd className="text-sm text-soft">{hint}</dd>}
    </div>
  );
}

/** The title of a page and what can be done on it. */
export function PageHead({
  title,
  children,
  actions,
}: {
  title: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <div className="mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <h1 className="wrap-anywhere">{title}</h1>
        {children && <div className="mt-1 text-soft wrap-anywhere">{children}</div>}
      </div>
      {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
    </div>
  );
}
