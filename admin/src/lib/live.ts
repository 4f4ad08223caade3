// Server-Sent Events, read by fetch so that the key goes along as a header.
//
// A hidden tab closes its stream, because a browser has few connections to one server. When it is shown again, it
// continues after the last event it has seen.

import { useEffect, useRef } from "react";
import { keyHeaders } from "./api";
import { apiAddress } from "./config";
import { noteAnswered, noteUnreachable, onReachable } from "./reachable";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8000;
const SILENCE_MS = 40_000; // the server sends a heartbeat every 15 s

export type LiveEvent = { event: string; data: unknown };

/** Calls `onEvent` for every event of the stream, while the component is mounted and the address is not null.
 * `onListening` is called whenever the stream is open: events before that were missed, so data loaded earlier may be
 * old. */
export function useEvents(address: string | null, onEvent: (event: LiveEvent) => void, onListening?: () => void) {
  const latest = useRef({ onEvent, onListening });
  useEffect(() => {
    latest.current = { onEvent, onListening };
  });
  useEffect(() => {
    if (address === null) return;
    const stream = new Stream(
      address,
      (event) => latest.current.onEvent(event),
      () => latest.current.onListening?.(),
    );
    return () => stream.close();
  }, [address]);
}

class Stream {
  private readonly address: string;
  private readonly tell: (event: LiveEvent) => void;
  private readonly tellListening: () => void;
  private lastId: string | null = null;
  private pause = FIRST_PAUSE_MS;
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;
  private readonly forget: () => void;

  constructor(address: string, tell: (event: LiveEvent) => void, tellListening: () => void) {
    this.address = address;
    this.tell = tell;
    this.tellListening = tellListening;
    document.addEventListener("visibilitychange", this.look);
    this.forget = onReachable(this.look);
    this.look();
  }

  close() {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.look);
    this.forget();
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  private readonly look = () => {
    if (document.hidden) {
      clearTimeout(this.timer);
      this.abort?.abort();
    } else if (!this.closed && this.abort === null) {
      clearTimeout(this.timer);
      void this.run();
    }
  };

  private async run() {
    const abort = new AbortController();
    this.abort = abort;
    let lost = false;
    try {
      await this.read(abort);
    } catch {
      lost = !abort.signal.aborted;
    }
    this.abort = null;
    if (this.closed || document.hidden) return;
    if (lost) noteUnreachable();
    this.timer = setTimeout(this.look, this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  private async read(abort: AbortController) {
    const headers: Record<string, string> = { ...keyHeaders(), Accept: "text/event-stream" };
    if (this.lastId !== null) headers["Last-Event-ID"] = this.lastId;
    const response = await fetch(apiAddress(this.address), { headers, cache: "no-store", signal: abort.signal });
    noteAnswered();
    if (!response.ok || response.body === null) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let isListening = false;
    let silence = setTimeout(() => abort.abort(), SILENCE_MS);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return; // a proxy may end it; whether the server is away shows at the next try
        clearTimeout(silence);
        silence = setTimeout(() => abort.abort(), SILENCE_MS);
        this.pause = FIRST_PAUSE_MS;
        if (!isListening) this.tellListening(); // the server greets once it has begun to listen
        isListening = true;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const { id, event } = readBlock(block);
          this.lastId = id ?? this.lastId;
          if (event) this.tell({ event: event.name, data: JSON.parse(event.data) });
        }
      }
    } finally {
      clearTimeout(silence);
    }
  }
}

/** A block of the stream. One without data, such as the heartbeat's comment, has no event. */
export function readBlock(block: string): { id: string | null; event: { name: string; data: string } | null } {
  let id: string | null = null;
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
    else if (line.startsWith("id: ")) id = line.slice(4);
  }
  return { id, event: data.length > 0 ? { name, data: data.join("\n") } : null };
}
