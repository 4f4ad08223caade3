"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { Select } from "@/components/Form";
import { sayError } from "@/components/Toasts";
import { api } from "@/lib/api";
import type { Schema } from "@/lib/api";
import { runsOf, type StartedRun } from "@/lib/importLogs";
import type { Resource } from "@/lib/resource";

/** Imports all feeds, or the one that is chosen. */
export function RunNow({
  feeds,
  onRuns,
}: {
  feeds: Resource<Schema<"FeedsPage">>;
  onRuns: (runs: StartedRun[]) => void;
}) {
  const [chosen, setChosen] = useState("");
  const [isBusy, setBusy] = useState(false);
  if (feeds.data?.total === 0) {
    return (
      <LinkButton href="/feeds" kind="primary">
        Add a feed to import
      </LinkButton>
    );
  }
  const start = async () => {
    setBusy(true);
    try {
      onRuns(await runsOf(api.post("/api/import/run", { body: chosen ? { sourceUrl: chosen } : {} })));
    } catch (error) {
      sayError(error);
      feeds.reload(); // the chosen one may be gone
    }
    setBusy(false);
  };
  return (
    <>
      <Select
        aria-label="Which feed"
        className="!w-48 max-w-full"
        value={chosen}
        onChange={(event) => setChosen(event.target.value)}
      >
        <option value="">All feeds</option>
        {feeds.data?.data.map((feed) => (
          <option key={feed.feedId} value={feed.sourceUrl}>
            {feed.enabled ? feed.name : `${feed.name} (paused)`}
          </option>
        ))}
      </Select>
      <Button kind="primary" isBusy={isBusy} onClick={start}>
        Run Import Now
      </Button>
    </>
  );
}
