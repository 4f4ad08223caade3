"use client";

import { useState } from "react";
import { Button, LinkButton, linkLook } from "@/components/Button";
import { say, sayError } from "@/components/Toasts";
import { isWebUrl } from "@/lib/format";
import { runNow, type Watch } from "@/lib/watch";
import { setEnabled } from "../WatchActions";

/** What can be done with a page and its watch; without one, or if another program checks it, the page can be opened. */
export function PageActions({ watch, url, onDone }: { watch: Watch | undefined; url: string; onDone: () => void }) {
  const [doing, setDoing] = useState<"check" | "pause" | null>(null);

  async function act(what: typeof doing, action: () => Promise<string>) {
    setDoing(what);
    try {
      say(await action());
      onDone();
    } catch (error) {
      sayError(error);
    } finally {
      setDoing(null);
    }
  }

  return (
    <>
      {watch && !watch.external && (
        <>
          <Button kind="primary" isBusy={doing === "check"} onClick={() => void act("check", () => runNow(watch))}>
            Check now
          </Button>
          <Button
            isBusy={doing === "pause"}
            onClick={() => void act("pause", () => setEnabled(watch, !watch.enabled))}
            aria-label={`${watch.enabled ? "Pause" : "Resume"}: ${watch.name}`}
          >
            {watch.enabled ? "Pause" : "Resume"}
          </Button>
          <LinkButton href={`/watch/edit?${new URLSearchParams({ jobId: watch.jobId })}`}>
            Edit<span className="sr-only">: {watch.name}</span>
          </LinkButton>
        </>
      )}
      {isWebUrl(url) && (
        <a href={url} target="_blank" rel="noopener noreferrer" className={linkLook("plain")}>
          Open<span className="sr-only"> the page (in a new tab)</span>
          <span aria-hidden="true">↗</span>
        </a>
      )}
    </>
  );
}
