"use client";

import { createContext, useContext, useId } from "react";
import type { ComponentProps, InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from "react";

const Ids = createContext<{ id: string; described: string | undefined; isBad: boolean } | null>(null);

const SHAPE =
  "w-full rounded-lg border bg-card px-3 py-1.5 text-ink placeholder:text-soft disabled:opacity-60 aria-invalid:border-bad";

/** A label, its control (one child: Input, Select or Textarea), a hint, and what is wrong with it. */
export function Field({
  label,
  hint,
  error,
  children,
  className = "",
}: {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null;
  children: ReactNode;
  className?: string;
}) {
  const id = useId();
  const described = hint || error ? `${id}-described` : undefined;
  return (
    <div className={`flex min-w-0 flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <Ids.Provider value={{ id, described, isBad: Boolean(error) }}>{children}</Ids.Provider>
      {described && (
        <div id={described} role={error ? "alert" : undefined} className={`text-sm ${error ? "text-bad" : "text-soft"}`}>
          {error || hint}
        </div>
      )}
    </div>
  );
}

function useIds() {
  const ids = useContext(Ids);
  return ids ? { id: ids.id, "aria-describedby": ids.described, "aria-invalid": ids.isBad || undefined } : {};
}

export function Input({ className = "", ...rest }: ComponentProps<"input">) {
  return <input {...useIds()} className={`${SHAPE} min-h-9 border-control ${className}`} {...rest} />;
}

export function Select({ className = "", ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return <select {...useIds()} className={`${SHAPE} min-h-9 border-control ${className}`} {...rest} />;
}

export function Textarea({ className = "", ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <textarea {...useIds()} className={`${SHAPE} border-control font-mono text-sm ${className}`} {...rest} />;
}

export function Checkbox({ label, ...rest }: InputHTMLAttributes<HTMLInputElement> & { label: ReactNode }) {
  return (
    <label className="inline-flex min-h-6 items-center gap-2">
      <input type="checkbox" className="size-4 accent-[var(--accent)]" {...rest} />
      {label}
    </label>
  );
}
