"use client";

import { Confirm } from "@/components/Dialog";
import { say } from "@/components/Toasts";
import { api } from "@/lib/api";

/** Asks before what is stored for a URL is deleted. */
export function Invalidate({ url, onClose, onDone }: { url: string; onClose: () => void; onDone: () => void }) {
  return (
    <Confirm
      title="Invalidate this record?"
      yes="Invalidate"
      onClose={onClose}
      onYes={async () => {
        await api.delete("/metadata", { query: { url } });
        say("Invalidated. Nothing is stored for this URL now.");
        onDone();
      }}
    >
      Its headers, cookies and source are deleted. The next look-up fetches the URL again.
    </Confirm>
  );
}
