// One request that changes many things, and streams what comes of them.

import { send, type Schema } from "./api";

type Step = Schema<"BulkStep">;
type Result = Schema<"BulkResult">;

export const MOST_UNDONE = 10_000; // items that have changed; of more, the API does not say how they were
export const AT_ONCE = 100; // items of a batch: the server reports progress after each
const MOST_FAILURES = 100; // that are listed

export type Progress = Pick<Step, "done" | "total">;

/** What is known of a request that has ended, in whichever way. */
export type Outcome = Step & { end: "done" | "stopped" | "lost" };

const NOTHING: Step = { done: 0, total: 0, failed: 0, skipped: 0, failures: [], before: [] };

export function succeeded({ done, failed, skipped }: Step): number {
  return done - failed - skipped;
}

/** What has come of the items so far, with what the next line tells. */
export function plus(known: Step, step: Step): Step {
  const before = known.before && step.before && [...known.before, ...step.before];
  return {
    done: step.done,
    total: step.total,
    failed: known.failed + step.failed,
    skipped: known.skipped + step.skipped,
    failures: [...known.failures, ...step.failures].slice(0, MOST_FAILURES),
    before: before && before.length > MOST_UNDONE ? null : before,
  };
}

/** Makes the request. `onProgress` hears how far it is. What is done before it is aborted, or the connection is lost,
 * stays done. Rejects if it is refused. */
export async function bulk(
  address: string,
  body: object,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  let known = NOTHING;
  let isAnswered = false;
  try {
    const response = await send(address, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
      signal,
    });
    isAnswered = true;
    for await (const line of linesOf(response.body)) {
      const step = JSON.parse(line) as Step | Result;
      if ("succeeded" in step) return { ...step, end: "done" };
      known = plus(known, step);
      onProgress(known);
    }
  } catch (error) {
    if (signal.aborted) return { ...known, end: "stopped" };
    if (!isAnswered) throw error;
  }
  return { ...known, end: "lost" };
}

export async function* linesOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  if (stream === null) return;
  const reader = stream.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines) if (line.trim()) yield line;
    if (done) return;
  }
}
