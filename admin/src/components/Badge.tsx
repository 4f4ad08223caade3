import type { ReactNode } from "react";

export type Tone = "good" | "bad" | "warn" | "calm" | "busy";

const LOOKS: Record<Tone, string> = {
  good: "bg-good-pale text-good",
  bad: "bg-bad-pale text-bad",
  warn: "bg-warn-pale text-warn",
  busy: "bg-accent-pale text-accent-strong",
  calm: "bg-page text-soft border border-line",
};

export function Badge({ tone = "calm", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={`inline-flex items-center rounded-full px-2.5 py-0.5 text-sm whitespace-nowrap in-[.list-row]:px-2 in-[.list-row]:text-xs ${LOOKS[tone]}`}>
      {children}
    </span>
  );
}

const TONES: Record<string, Tone> = {
  running: "busy",
  in_progress: "busy",
  completed: "good",
  partial: "warn",
  failed: "bad",
  cancelled: "warn",
  PENDING: "calm",
  IN_PROGRESS: "busy",
  COMPLETED: "good",
  FAILED_RETRYABLE: "warn",
  FAILED_PERMANENT: "bad",
  in_stock: "good",
  out_of_stock: "bad",
  pre_order: "warn",
  unknown: "calm",
  up: "good",
  down: "bad",
  ok: "good",
  degraded: "warn",
  changed: "busy",
  unchanged: "calm",
  info: "calm",
  warning: "warn",
  error: "bad",
};

/** A state by its name in the API, in words. */
export function StatusBadge({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? "calm"}>{status.replaceAll("_", " ").toLowerCase()}</Badge>;
}
