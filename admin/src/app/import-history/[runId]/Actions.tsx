"use client";

import { useRouter } from "next/navigation";
import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { Confirm } from "@/components/Dialog";
import { RunNotice } from "@/components/RunNotice";
import { say, sayError } from "@/components/Toasts";
import { addressOf, api } from "@/lib/api";
import { runAddress, runsOf, type ImportLog, type StartedRun } from "@/lib/importLogs";

export function Actions({ run, onChange }: { run: ImportLog; onChange: () => void }) {
  const router = useRouter();
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [running, setRunning] = useState<StartedRun[] | null>(null);
  const isRunning = run.status === "running";
  const path = { runId: run.runId };

  const retry = async () => {
    setBusy(true);
    try {
      const runs = await runsOf(api.post("/api/import-logs/{runId}/retry", { path }));
      const fresh = runs.find((each) => !each.alreadyRunning);
      if (fresh) {
        say(`${run.sourceName} is imported again: this is the new run.`);
        router.push(runAddress(fresh.runId));
      } else setRunning(runs);
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
  };
  const cancel = async () => {
    await api.post("/api/import-logs/{runId}/cancel", { path });
    say("The run is being cancelled. What it has stored is kept.");
    onChange();
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap gap-2 sm:justify-end">
        <LinkButton href={addressOf("/import-history", {}, { sourceUrl: run.sourceUrl })}>Runs of this feed</LinkButton>
        <LinkButton href={addressOf("/jobs", {}, { source: run.sourceUrl })}>Its postings</LinkButton>
        {isRunning && (
          <Button kind="danger" disabled={run.cancelRequested} onClick={() => setAsking(true)}>
            {run.cancelRequested ? "Ending…" : "Cancel the run"}
          </Button>
        )}
        {!isRunning && run.status !== "completed" && (
          <Button kind="primary" isBusy={isBusy} onClick={retry}>
            Retry
          </Button>
        )}
      </div>
      {running && <RunNotice runs={running} onDismiss={() => setRunning(null)} />}
      {isAsking && (
        <Confirm
          title="Cancel this run?"
          yes="Cancel the run"
          no="Let it go on"
          onYes={cancel}
          onClose={() => setAsking(false)}
        >
          What it has stored stays. The rest of the feed is left out until the next import.
        </Confirm>
      )}
    </div>
  );
}
