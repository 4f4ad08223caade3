// Lists of pages and of feeds: shown first, then imported.

import { addressOf, send, type Schema } from "./api";
import { isZip, settingsOf } from "./changedetectionBackup";
import { linesOf, type Progress } from "./bulk";
import { counted } from "./format";

export type PagePreview = Schema<"WatchListPreview">;
export type FeedPreview = Schema<"OpmlPreview">;
export type PagesImported = Schema<"WatchesImported">;
export type FeedsImported = Schema<"OpmlImported">;

/** What is sent: as it is, because a document says itself how it is encoded. */
export type Content = { body: Blob; type: string };

export async function contentOf(given: Blob | string): Promise<Content> {
  const body = typeof given === "string" ? new Blob([given]) : given;
  return (await isZip(body))
    ? { body: await settingsOf(body), type: "application/zip" }
    : { body, type: "text/plain" };
}

function post(address: string, { body, type }: Content, signal?: AbortSignal): Promise<Response> {
  return send(address, { method: "POST", body, headers: { "Content-Type": type }, signal });
}

export async function previewPages(content: Content, signal?: AbortSignal): Promise<PagePreview> {
  return (await post("/api/watches/import/preview", content, signal)).json();
}

export async function previewFeeds({ body }: Content, signal?: AbortSignal): Promise<FeedPreview> {
  return (await post("/api/feeds/opml/preview", { body, type: "text/x-opml" }, signal)).json();
}

export async function importFeeds({ body }: Content, signal?: AbortSignal): Promise<FeedsImported> {
  return (await post("/api/feeds/opml", { body, type: "text/x-opml" }, signal)).json();
}

/** `onProgress` hears how far it is. When it is aborted, what is done stays done. */
export async function importPages(
  content: Content,
  skipKnown: boolean,
  onProgress: (progress: Progress) => void,
  signal?: AbortSignal,
): Promise<PagesImported> {
  const response = await post(addressOf("/api/watches/import", {}, { skipKnown, progress: true }), content, signal);
  let done = "";
  for await (const line of linesOf(response.body)) {
    const last = JSON.parse(line) as PagesImported | Progress | Schema<"ImportStopped">;
    if ("added" in last) return last;
    done = ` ${last.done} of ${last.total} entries were done.`;
    if ("detail" in last) throw new Error(`${last.detail}${done}`);
    onProgress(last);
  }
  throw new Error(`The connection ended before the import did.${done} Import the list again: known pages are left out.`);
}

export type List = { kind: "opml" | "json" } | { kind: "lines"; count: number };

const OPML = /^\s*</;
const JSON_LIST = /^\s*(?:\{|\[\s*["{\]])/; // an address may begin with [ too: [::1]:8080

/** What kind of list a text is, on however many lines; null for one address. How long OPML and JSON are is not known
 * here. */
export function listIn(text: string): List | null {
  if (OPML.test(text)) return { kind: "opml" };
  if (JSON_LIST.test(text)) return { kind: "json" };
  const lines = text.split(/[\r\n]+/).filter((line) => line.trim() !== "" && !line.trimStart().startsWith("#"));
  return lines.length < 2 ? null : { kind: "lines", count: lines.length };
}

/** In a sentence. */
export function listWords(list: List): string {
  if (list.kind === "lines") return `This is a list of ${counted(list.count, "address", "addresses")}.`;
  return list.kind === "opml" ? "This is a list of feeds or pages (OPML)." : "This is a list (JSON).";
}
