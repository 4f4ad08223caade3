// Backups: download one, look into one, restore one. A restore goes on while other screens are shown.

import { messageOf, send, type Schema } from "./api";
import { linesOf } from "./bulk";
import { save } from "./download";
import { number } from "./format";
import { Followed } from "./store";
import { keepTabOpen } from "./tab";

export type Contents = Schema<"BackupContents">;
export type RestoreResult = Schema<"RestoreResult">;
export type Done = Record<string, number>; // items by collection

export type Restoring =
  | { step: "none" }
  | { step: "reading"; file: File }
  | { step: "read"; file: File; contents: Contents }
  | { step: "restoring"; file: File; contents: Contents; done: Done }
  | { step: "ended"; file: File; contents: Contents; result: RestoreResult }
  | { step: "failed"; file: File; reason: string };

export const NOTHING: Restoring = { step: "none" };
export const restoring = new Followed<Restoring>(NOTHING); // of this tab
let abort = new AbortController();

const CUT_OFF = "The backup broke off before its end, and was not saved. The log on this page may say why.";
const STOPPED =
  "The connection ended before the restore did. What was loaded stays; restore the same file again to continue.";

/** The browser keeps the file, outside the tab's memory, until it is complete. */
export async function downloadBackup(signal: AbortSignal) {
  const response = await send("/api/backup", { signal });
  const content = await response.blob().catch((error: unknown) => {
    throw signal.aborted ? error : new Error(CUT_OFF);
  });
  save(`webloom-${new Date().toISOString().slice(0, 10)}.zst`, content);
}

/** Reads what is in the file. Another one that is being read is given up. */
export async function choose(file: File) {
  forget();
  const { signal } = abort;
  const show = (next: Restoring) => {
    if (!signal.aborted) restoring.set(next);
  };
  show({ step: "reading", file });
  try {
    const response = await upload("/api/restore/preview", file, signal);
    show({ step: "read", file, contents: (await response.json()) as Contents });
  } catch (error) {
    show({ step: "failed", file, reason: messageOf(error) });
  }
}

/** Back to the beginning; what is being read or restored is stopped. */
export function forget() {
  abort.abort();
  abort = new AbortController();
  restoring.set(NOTHING);
}

/** Restores the file whose contents are known. */
export async function restore(file: File, contents: Contents) {
  const { signal } = abort;
  const done: Done = {};
  restoring.set({ step: "restoring", file, contents, done });
  const release = keepTabOpen();
  try {
    const result = await restored(file, signal, (name, items) => {
      done[name] = items;
      restoring.set({ step: "restoring", file, contents, done: { ...done } });
    });
    restoring.set(
      result.error === null
        ? { step: "ended", file, contents, result }
        : { step: "failed", file, reason: result.error },
    );
  } catch (error) {
    restoring.set({ step: "failed", file, reason: signal.aborted ? STOPPED : messageOf(error) });
  } finally {
    release();
  }
}

/** What is restored already stays. */
export function stop() {
  abort.abort();
  abort = new AbortController();
}

/** What came of it; `onProgress` hears how many items of a collection are done. */
export async function restored(
  file: Blob,
  signal: AbortSignal,
  onProgress: (collection: string, items: number) => void,
): Promise<RestoreResult> {
  const response = await upload("/api/restore", file, signal);
  try {
    for await (const text of linesOf(response.body)) {
      const line = JSON.parse(text) as Schema<"RestoreProgress"> | RestoreResult;
      if ("verified" in line) return line;
      onProgress(line.collection, line.done);
    }
  } catch {
    // the connection has ended: so says what follows
  }
  throw new Error(STOPPED);
}

function upload(address: string, file: Blob, signal: AbortSignal): Promise<Response> {
  return send(address, { method: "POST", body: file, headers: { "Content-Type": "application/zstd" }, signal });
}

const NAMES: Record<string, string> = {
  metadata: "Inventory records",
  feeds: "Feeds",
  import_logs: "Imports",
  jobs: "Job postings",
  job_runs: "Runs of watches",
  watches: "Watches",
  pages: "Watched pages",
  snapshots: "Versions of pages",
  price_history: "Prices",
  change_logs: "Changes",
  notices: "Notifications",
};

export function collectionName(name: string): string {
  return NAMES[name] ?? name;
}

/** How a restore ended, in a sentence or three. */
export function verdictOf({ verified, collections }: RestoreResult): string {
  const count = (name: "equal" | "newerHere" | "expired") => collections.reduce((total, each) => total + each[name], 0);
  const counts = [
    [count("equal"), "as in the backup"],
    [count("newerHere"), "newer here, and stay"],
    [count("expired"), "expired, and left out"],
  ] as const;
  const items = counts.filter(([items], index) => items > 0 || index === 0);
  const words = items.map(([items, what]) => `${number(items)} ${what}`).join("; ");
  return verified
    ? `Restored and verified. Items: ${words}.`
    : `Not everything is as in the backup. Items: ${words}. The others may have been changed or removed meanwhile; you can restore the file again.`;
}
