// What the API keeps of a response beside its metadata. The OpenAPI document leaves it open.

import type { Schema } from "@/lib/api";
import { bytes, number } from "@/lib/format";

export type Details = {
  redirect_chain?: { url: string; status_code: number }[]; // the hops before the final one
  timings_ms?: Partial<Record<"dns" | "connect" | "first_byte" | "total", number | null>>;
  http_version?: string;
  content_type?: string | null;
  content_length?: number | null; // null: the body was not read to its end
  content_hash?: string | null;
  body_truncated_at?: number; // bytes that were read of a body that is larger than the limit
  tls?: { version: string | null; cipher: string | null; certificate_expires_at: string | null } | null;
  source_omitted?: string;
  source_truncated_at?: number;
  source_characters?: number | null; // null: unknown, as the body was not read to its end
};

export function detailsOf(record: Schema<"RecordResponse">): Details {
  return (record.additional_details ?? {}) as Details;
}

export function sizeOf(details: Details): string {
  if (details.body_truncated_at !== undefined) return `more than ${bytes(details.body_truncated_at)}`;
  return typeof details.content_length === "number" ? bytes(details.content_length) : "–";
}

/** What is missing from the stored source. */
export function truncation(details: Details): string {
  const kept = `Only the first ${number(details.source_truncated_at ?? 0)}`;
  if (typeof details.source_characters === "number") {
    return `${kept} of ${number(details.source_characters)} characters are kept.`;
  }
  return `${kept} characters are kept: the page is too large to be read to its end.`;
}

export const STATES: Schema<"RecordResponse">["status"][] = [
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
