"use client";

import { useRouter } from "next/navigation";
import { useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Field, Input } from "@/components/Form";
import { api, ApiError, messageOf, withoutField } from "@/lib/api";
import { runAddress, runsOf } from "@/lib/importLogs";

type What = "fetch" | "import" | "watch";

/** One address, and the three things that Webloom can do with it. */
export function TryIt({ isFirst = false }: { isFirst?: boolean }) {
  const router = useRouter();
  const [url, setUrl] = useState("");
  const [doing, setDoing] = useState<What | null>(null);
  const [error, setError] = useState<string | null>(null);

  async function act(what: What) {
    if (!url.trim()) {
      setError("Enter an address that starts with https://.");
      return;
    }
    setDoing(what);
    setError(null);
    try {
      router.push(await ACTS[what](url.trim()));
    } catch (failure) {
      setError(withoutField(messageOf(failure)));
      setDoing(null);
    }
  }

  return (
    <Card title={isFirst ? "Nothing here yet. Try it" : "Add something"} className="@container">
      {isFirst && (
        <p className="mb-4 max-w-prose text-soft">
          Give Webloom an address. It can fetch it once and store the response; import it every hour, if it
          is a job feed; or watch it and store every version, change and price.
        </p>
      )}
      <form
        className="flex flex-wrap items-start gap-3"
        noValidate // the API says what is wrong, whichever button is pressed
        onSubmit={(event) => {
          event.preventDefault();
          void act("fetch");
        }}
      >
        <Field label="Address" error={error} className="flex-1 basis-72">
          <Input
            type="url"
            inputMode="url"
            placeholder="https://example.com/"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
        </Field>
        <div className="flex flex-wrap gap-2 @xl:pt-6">
          <Button type="submit" kind="primary" isBusy={doing === "fetch"} disabled={doing !== null}>
            Fetch it
          </Button>
          <Button isBusy={doing === "import"} disabled={doing !== null} onClick={() => act("import")}>
            Import it
          </Button>
          <Button isBusy={doing === "watch"} disabled={doing !== null} onClick={() => act("watch")}>
            Watch it
          </Button>
        </div>
      </form>
    </Card>
  );
}

const ACTS: Record<What, (url: string) => Promise<string>> = {
  async fetch(url) {
    const submitted = await api.post("/metadata", { body: { url } });
    return `/inventory/record?${new URLSearchParams({ url: submitted.url })}`;
  },
  async import(url) {
    const feed = await api.post("/api/feeds", { body: { url } }).catch(unless409({ url }));
    const [run] = await runsOf(api.post("/api/import/run", { body: { sourceUrl: feed.url } }));
    return run ? runAddress(run.runId) : "/import-history";
  },
  async watch(url) {
    const watch = await api.post("/api/watches", { body: { url } });
    const path = { jobId: watch.jobId };
    await api.post("/api/watches/{jobId}/run", { path }).catch(unless409(null)); // the scheduler may be first
    return `/watch/${watch.jobId}`;
  },
};

/** What is there or under way already is what was wanted. */
function unless409<T>(instead: T) {
  return (error: unknown): T => {
    if (error instanceof ApiError && error.status === 409) return instead;
    throw error;
  };
}
