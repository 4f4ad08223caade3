"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { say, sayError } from "@/components/Toasts";
import { download } from "@/lib/download";

/** Saves all feeds as a file. */
export function ExportOpml() {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      await download("/api/feeds/opml", "webloom-feeds.opml");
      say("Feeds saved as webloom-feeds.opml.");
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button isBusy={isBusy} onClick={save}>
      Export OPML
    </Button>
  );
}
