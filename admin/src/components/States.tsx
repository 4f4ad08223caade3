"use client";

import type { ReactNode } from "react";
import { Button } from "@/components/Button";
import { Skeleton } from "@/components/Skeleton";
import { messageOf } from "@/lib/api";
import type { Shown } from "@/lib/resource";

/** Nothing there yet, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="py-10 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="mx-auto mt-2 flex max-w-prose flex-col items-center gap-3 text-soft">{children}</div>}
    </div>
  );
}

export function ErrorBox({ error, onRetry, title = "Could not load this" }: { error: unknown; onRetry?: () => void; title?: string }) {
  return (
    <div role="alert" className="rounded-lg border border-bad bg-bad-pale p-4 text-bad">
      <p className="font-medium">{title}</p>
      <p className="mt-1 wrap-anywhere">{messageOf(error)}</p>
      {onRetry && (
        <div className="mt-3">
          <Button onClick={onRetry}>Try again</Button>
        </div>
      )}
    </div>
  );
}

/** What was loaded; or that it is loading, or has failed. Old data stays while the API is away. */
export function Loaded<T>({
  from,
  lines,
  children,
}: {
  from: Shown<T>;
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  if (from.data !== undefined) return <>{children(from.data)}</>;
  if (from.error !== undefined) return <ErrorBox error={from.error} onRetry={from.reload} />;
  return <Skeleton lines={lines} />;
}
