"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { Confirm } from "@/components/Dialog";
import { Checkbox } from "@/components/Form";
import { say, sayError } from "@/components/Toasts";
import { api } from "@/lib/api";
import { counted } from "@/lib/format";
import type { Removal } from "@/lib/removal";
import { runNow, type Watch } from "@/lib/watch";

type Doing = "run" | "pause" | null;

/** Pauses or resumes it, and says what that means. */
export async function setEnabled({ jobId, name }: Watch, enabled: boolean): Promise<string> {
  if (enabled) await api.post("/api/watches/{jobId}/resume", { path: { jobId } });
  else await api.post("/api/watches/{jobId}/pause", { path: { jobId } });
  return enabled ? `${name} is checked on its schedule again.` : `${name} is paused. It is checked only on demand.`;
}

/** What can be done with a watch. */
export function WatchActions({
  watch,
  onDone,
  removal,
  onRemoved,
}: {
  watch: Watch;
  onDone: () => void;
  removal: Removal;
  onRemoved: () => void;
}) {
  const [doing, setDoing] = useState<Doing>(null);
  const { jobId, name, enabled } = watch;

  async function act(what: Doing, action: () => Promise<string>) {
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
      {!watch.external && (
        <>
          <Button isBusy={doing === "run"} onClick={() => act("run", () => runNow(watch))} aria-label={`Run now: ${name}`}>
            Run now
          </Button>
          <Button
            isBusy={doing === "pause"}
            onClick={() => act("pause", () => setEnabled(watch, !enabled))}
            aria-label={`${enabled ? "Pause" : "Resume"}: ${name}`}
          >
            {enabled ? "Pause" : "Resume"}
          </Button>
          <LinkButton href={`/watch/edit?${new URLSearchParams({ jobId })}`}>
            Edit<span className="sr-only">: {name}</span>
          </LinkButton>
        </>
      )}
      <Button kind="danger" onClick={removal.ask} aria-label={`Remove: ${name}`}>
        Remove
      </Button>
      {removal.isAsking && (
        <RemoveWatch
          watch={watch}
          onClose={removal.close}
          onRemoved={() => {
            removal.done();
            onRemoved();
          }}
        />
      )}
    </>
  );
}

export function RemoveWatch({ watch, onClose, onRemoved }: { watch: Watch; onClose: () => void; onRemoved: () => void }) {
  const [withPages, setWithPages] = useState(false);
  const { jobId, name, urls } = watch;
  return (
    <Confirm
      title={`Remove ${name}?`}
      yes={withPages ? "Remove it and its pages" : "Remove the watch"}
      onClose={onClose}
      onYes={async () => {
        await api.delete("/api/watches/{jobId}", { path: { jobId }, query: { pages: withPages } });
        say(
          withPages
            ? `${name} and its stored pages are removed.`
            : `${name} is removed. Its pages are kept.`,
        );
        onRemoved();
      }}
    >
      <p>
        {watch.external
          ? "The next event with its id adds it again."
          : `${counted(urls.length, "page")} will no longer be checked, and a running check ends.`}{" "}
        Its settings and targets are deleted. This can&apos;t be undone.
      </p>
      <p className="mt-2">
        {withPages
          ? "Versions, change logs and prices of its pages are deleted too, including what other programs sent."
          : "The versions, change logs and prices of its pages are kept."}
      </p>
      <div className="mt-3 text-ink">
        <Checkbox
          label="Also delete its stored pages"
          checked={withPages}
          onChange={(event) => setWithPages(event.target.checked)}
        />
      </div>
    </Confirm>
  );
}
