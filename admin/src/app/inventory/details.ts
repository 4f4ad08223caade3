// What the API keeps of a response beside its metadata. The OpenAPI document leaves it open.

import type { Schema } from "@/lib/api";

export type Details = {
  redirect_chain?: { url: string; status_code: number }[]; // the hops before the final one
  timings_ms?: Partial<Record<"dns" | "connect" | "first_byte" | "total", number | null>>;
  http_version?: string;
  content_type?: string | null;
  content_length?: number;
  content_hash?: string;
  tls?: { version: string | null; cipher: string | null; certificate_expires_at: string | null } | null;
  source_omitted?: string;
  source_truncated_at?: number;
  source_characters?: number;
};

export function detailsOf(record: Schema<"RecordAnswer">): Details {
  return (record.additional_details ?? {}) as Details;
}

export const STATES: Schema<"RecordAnswer">["status"][] = [
  "PENDING",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED_RETRYABLE",
  "FAILED_PERMANENT",
];

export function isFinal(status: string): boolean {
  return status === "COMPLETED" || status === "FAILED_PERMANENT";
}

export function recordAddress(url: string): string {
  return `/inventory/record?url=${encodeURIComponent(url)}`;
}
