// What the screens of watched pages have in common: their addresses, and words for what the API says.

import { api, type Schema } from "./api";
import { useChanges } from "./changes";
import { counted, cut, money, number } from "./format";

export type Watch = Schema<"WatchResponse">;
export type Run = Schema<"JobRun">;
export type Page = Schema<"PageResponse">;
export type Change = Schema<"ChangeResponse">;
export type Amount = number | string | null | undefined;

const OWN_PAGES = new Set(["new", "edit", "page", "_", ".", ".."]);

/** An id may be any text: one that is the address of something else goes into the query. */
export function watchPath(jobId: string): string {
  if (OWN_PAGES.has(jobId) || jobId.endsWith(".txt")) return `/watch/_?${new URLSearchParams({ jobId })}`;
  return `/watch/${encodeURIComponent(jobId)}`;
}

export function pagePath(jobId: string, url: string, versions: { from?: number; to?: number } = {}): string {
  const query = new URLSearchParams({ jobId, url });
  for (const [name, value] of Object.entries(versions)) if (value !== undefined) query.set(name, String(value));
  return `/watch/page?${query}`;
}

export function useWatchChanges(onChange: () => void) {
  useChanges("watch", onChange);
}

/** The beginning of a page's title or other text, which may be of any length. */
export function short(text: string, most = 160): string {
  return text.length > most ? `${cut(text, most)}…` : text;
}

export function price(amount: Amount, currency: string | null | undefined): string {
  return money(amount === null || amount === undefined ? null : Number(amount), currency);
}

/** With its sign: "+9.11 %". */
export function percent(value: Amount): string {
  return `${Number(value) < 0 ? "−" : "+"}${percentSize(value)}`;
}

export function percentSize(value: Amount): string {
  return `${new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 }).format(Math.abs(Number(value)))} %`;
}

/** An alert's sentence with its prices as they are shown elsewhere. What is quoted from a page stays as it is. */
export function alertWords(alert: string): string {
  if (!alert.startsWith("the price ")) return alert;
  const prices = /((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?) ([A-Z]{3})\b/g; // earlier versions write 1299.5 EUR
  return alert.replace(prices, (_, amount: string, currency: string) => price(amount.replaceAll(",", ""), currency));
}

const SHORTHANDS = new Map([
  ["@hourly", "every hour"],
  ["@daily", "every day at midnight"],
  ["@midnight", "every day at midnight"],
  ["@weekly", "every Sunday at midnight"],
  ["@monthly", "on the first of every month"],
  ["@yearly", "every 1 January"],
  ["@annually", "every 1 January"],
]);

export function scheduleWords({ everyMinutes, cron, timeZone }: Schema<"ScheduleBody">): string {
  if (cron !== null && cron !== undefined) {
    const words = cronWords(cron.trim().toLowerCase());
    return words ? `${words} (${timeZone})` : `cron ${cron} (${timeZone})`;
  }
  return everyWords(everyMinutes ?? 0);
}

function everyWords(minutes: number): string {
  const units: [number, string][] = [
    [1440, "day"],
    [60, "hour"],
    [1, "minute"],
  ];
  for (const [size, unit] of units) {
    if (minutes >= size && minutes % size === 0) {
      return minutes === size ? `every ${unit}` : `every ${counted(minutes / size, unit)}`;
    }
  }
  if (minutes > 1) return `every ${number(minutes)} minutes`;
  return `every ${counted(Math.round(minutes * 60), "second")}`;
}

/** Simple cron lines in words; the others are shown as they are. */
function cronWords(line: string): string | null {
  const known = SHORTHANDS.get(line);
  if (known) return known;
  const [minute = "", hour = "", day, month, weekday = ""] = line.split(/\s+/);
  if (day !== "*" || month !== "*") return null;
  const step = Number(/^\*\/(\d+)$/.exec(minute)?.[1]);
  if (hour === "*" && weekday === "*") {
    if (minute === "*" || step === 1) return "every minute";
    if (step < 60 && 60 % step === 0) return `every ${step} minutes`; // any other step starts again each hour
    return /^\d+$/.test(minute) ? `every hour at minute ${minute}` : null;
  }
  if (!/^\d+$/.test(minute) || !/^\d+$/.test(hour)) return null;
  const at = `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (weekday === "*") return `every day ${at}`;
  if (weekday === "1-5" || weekday === "mon-fri") return `Monday to Friday ${at}`;
  return null;
}

/** "6 pages, 4 changes, 3 price changes, 1 failure" */
export function runWords(run: Run): string {
  const parts = [
    run.pagesTotal !== null && run.pagesProcessed < run.pagesTotal
      ? `${number(run.pagesProcessed)} of ${counted(run.pagesTotal, "page")}`
      : counted(run.pagesProcessed, "page"),
    counted(run.changesDetected, "change"),
  ];
  if (run.priceChangesDetected > 0) parts.push(counted(run.priceChangesDetected, "price change"));
  if (run.pagesFailed > 0) parts.push(counted(run.pagesFailed, "failure"));
  return parts.join(", ");
}

/** What all runs of a watch have counted. */
export function metricWords(watch: Pick<Watch, "pagesProcessed" | "changesDetected" | "priceChangesDetected">): string {
  const parts = [counted(watch.pagesProcessed, "check"), counted(watch.changesDetected, "change")];
  if (watch.priceChangesDetected > 0) parts.push(counted(watch.priceChangesDetected, "price change"));
  return parts.join(", ");
}

export async function runNow(watch: Pick<Watch, "jobId" | "name">): Promise<string> {
  const run = await api.post("/api/watches/{jobId}/run", { path: { jobId: watch.jobId } });
  const pages = run?.pagesTotal;
  return `${watch.name}: checking ${pages === null || pages === undefined ? "its pages" : counted(pages, "page")} now.`;
}

type Both = { previous?: unknown; current?: unknown };

function object(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function amount(value: unknown): number | null {
  const isGiven = typeof value === "number" || (typeof value === "string" && value.trim() !== "");
  return isGiven && Number.isFinite(Number(value)) ? Number(value) : null;
}

export type PriceMove = { before: number | null; after: number | null; currency: string | null };

/** Any program may have sent the change: what is not of the usual form is left out. */
export function priceMove(changes: Record<string, unknown>): PriceMove | null {
  const both = object(changes.price) as (Both & { currency?: unknown }) | null;
  if (both === null) return null;
  const before = amount(both.previous);
  const after = amount(both.current);
  if (before === null && after === null) return null;
  const currency = object(both.currency) ? (both.currency as Both).current : both.currency;
  return { before, after, currency: typeof currency === "string" ? currency : null };
}

/** What changed, in short sentences. */
export function changeWords(changes: Record<string, unknown>): string[] {
  const words: string[] = [];
  const text = object(changes.text);
  if (text) {
    const counts: [unknown, string][] = [
      [text.linesAdded, "added"],
      [text.linesRemoved, "removed"],
      [text.linesMoved, "moved"],
    ];
    const lines = counts
      .filter(([count]) => typeof count === "number" && count > 0)
      .map(([count, what], index) =>
        index === 0 ? `${counted(count as number, "line")} ${what}` : `${number(count as number)} ${what}`,
      );
    if (lines.length > 0) words.push(lines.join(", "));
  }
  if (words.length === 0 && changes.textChanged === true) words.push("the text changed");
  const title = object(changes.title) as Both | null;
  if (title) words.push(`title: ${shown(title.previous)} → ${shown(title.current)}`);
  const availability = object(changes.availability) as Both | null;
  if (availability) words.push(`availability: ${plain(availability.previous)} → ${plain(availability.current)}`);
  for (const what of ["images", "links"] as const) {
    const urls = object(changes[what]);
    const added = count(urls?.addedCount, urls?.added);
    const removed = count(urls?.removedCount, urls?.removed);
    if (added > 0) words.push(`${counted(added, what.slice(0, -1))} added`);
    if (removed > 0) words.push(`${counted(removed, what.slice(0, -1))} removed`);
  }
  return words;
}

function count(stated: unknown, list: unknown): number {
  return typeof stated === "number" ? stated : Array.isArray(list) ? list.length : 0;
}

function shown(value: unknown): string {
  return typeof value === "string" ? cut(value, 200) : "none";
}

/** "in stock", for what the API calls in_stock. */
function plain(value: unknown): string {
  return shown(value).replaceAll("_", " ");
}

export type Kind = { type: string; confidence: number | null; reasons: string[] };

export function kindOf(classification: unknown): Kind | null {
  const given = object(classification);
  if (typeof given?.type !== "string") return null;
  const reasons = Array.isArray(given.reasons) ? given.reasons.filter((each) => typeof each === "string") : [];
  return { type: given.type, confidence: typeof given.confidence === "number" ? given.confidence : null, reasons };
}

export const PAGE_TYPES = [
  "product",
  "article",
  "job_posting",
  "listing",
  "forum",
  "documentation",
  "login",
  "blocked",
  "error",
  "other",
];
