"use client";

import { useRef, useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { sayError } from "@/components/Toasts";
import { downloadBackup } from "@/lib/backup";
import { Restore } from "./Restore";

/** Everything as one file, and back. */
export function Backup() {
  return (
    <Card id="backup" title="Backup and restore">
      <div className="flex flex-col gap-6">
        <Download />
        <Restore />
      </div>
    </Card>
  );
}

function Download() {
  const [isBusy, setBusy] = useState(false);
  const abort = useRef<AbortController | null>(null);
  const start = async () => {
    const { signal } = (abort.current = new AbortController());
    setBusy(true);
    try {
      await downloadBackup(signal);
    } catch (error) {
      if (!signal.aborted) sayError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section aria-labelledby="download-backup" className="flex flex-col gap-3">
      <h3 id="download-backup">Download</h3>
      <p className="max-w-prose text-soft">
        One file with everything but queues, dead letters and logs, as of one moment; Webloom goes on meanwhile.{" "}
        <strong className="font-medium text-ink">It holds secrets</strong>: passwords and signing keys of notification
        targets, and whatever headers, cookies and pages contain. Keep it where only you can read it.
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <Button kind="primary" isBusy={isBusy} onClick={start}>
          Download a backup
        </Button>
        {isBusy && (
          <>
            <Button onClick={() => abort.current?.abort()}>Cancel</Button>
            <span role="status" className="text-soft">
              Collecting everything. Your browser saves the file when it is complete.
            </span>
          </>
        )}
      </div>
    </section>
  );
}
