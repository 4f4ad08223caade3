"use client";

import { useState } from "react";
import { Confirm } from "@/components/Dialog";
import { say, sayError } from "@/components/Toasts";
import { api, ApiError, type Schema } from "@/lib/api";
import { counted } from "@/lib/format";

type Feed = Schema<"FeedResponse">;

/** Imports one feed, or all that are not paused. A feed that is already being imported is not an error. */
export async function importNow(feed?: Feed): Promise<void> {
  try {
    const { runs } = await api.post("/api/import/run", { body: { sourceUrl: feed?.sourceUrl ?? null } });
    if (feed) say(`Importing ${feed.name}.`);
    else if (runs.length === 0) say("No feed is enabled, so there is nothing to import.");
    else say(`Importing ${counted(runs.length, "feed")}.`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) {
      say(feed ? `${feed.name} is already being imported.` : "All feeds are already being imported.");
    } else sayError(error);
  }
}

/** Does one thing at a time; says what went wrong. */
export function useBusy(): [string | null, (what: string, act: () => Promise<unknown>) => Promise<void>] {
  const [busy, setBusy] = useState<string | null>(null);
  const run = async (what: string, act: () => Promise<unknown>) => {
    if (busy !== null) return;
    setBusy(what);
    try {
      await act();
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(null);
    }
  };
  return [busy, run];
}

export async function setEnabled(feed: Feed, enabled: boolean): Promise<Feed> {
  const path = { feedId: feed.feedId };
  const changed = enabled
    ? await api.post("/api/feeds/{feedId}/resume", { path })
    : await api.post("/api/feeds/{feedId}/pause", { path });
  say(enabled ? `${feed.name} is imported on its schedule again.` : `${feed.name} is paused.`);
  return changed;
}

export function RemoveFeed({ feed, onClose, onRemoved }: { feed: Feed; onClose: () => void; onRemoved: () => void }) {
  return (
    <Confirm
      title="Remove this feed?"
      yes="Remove"
      onClose={onClose}
      onYes={async () => {
        await api.delete("/api/feeds/{feedId}", { path: { feedId: feed.feedId } });
        say(`${feed.name} is removed.`);
        onRemoved();
      }}
    >
      <p className="wrap-anywhere">
        <b>{feed.name}</b> will no longer be imported, and its settings are deleted. Its postings and the history of its
        imports stay. To stop it for a while only, pause it.
      </p>
    </Confirm>
  );
}
