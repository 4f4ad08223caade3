"use client";

import { useCallback, useEffect, useRef, useState } from "react";
import { StatusBadge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Skeleton } from "@/components/Skeleton";
import { Facts } from "@/components/Table";
import { api, ApiError, messageOf, withoutField, type Schema } from "@/lib/api";
import { counted, shortUrl } from "@/lib/format";
import { kindOf, price, short } from "@/lib/watch";
import { TextBox } from "./TextBox";

const PAUSE_MS = 600;
const BUSY_MS = 2000; // others are making previews: Webloom makes few at once
const TRIES = 4;

export type Preview = {
  url: string | null; // that was asked for; null: none yet
  seen: Schema<"WatchPreview"> | null; // the last that could be made for this URL
  error: string | null; // of the latest try
  isBusy: boolean;
  ask: (url: string) => void;
};

/** What is selected on a page: fetched when asked for, and again a moment after the selection has changed. */
export function usePreview(selection: Schema<"SelectionBody">): Preview {
  const [url, setUrl] = useState<string | null>(null);
  const [seen, setSeen] = useState<Schema<"WatchPreview"> | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);
  const chosen = JSON.stringify(selection);
  const shown = useRef(chosen);

  const load = useCallback(async (wanted: string, selected: string) => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    shown.current = selected;
    setBusy(true);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const body = { url: wanted, selection: JSON.parse(selected) as Schema<"SelectionBody"> };
        const found = await api.post("/api/watches/preview", { body, signal: abort.signal });
        if (abort.signal.aborted) return;
        setSeen(found);
        setError(null);
        break;
      } catch (failure) {
        if (abort.signal.aborted) return;
        if (failure instanceof ApiError && failure.status === 503 && attempt < TRIES) {
          await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
          if (abort.signal.aborted) return;
          continue;
        }
        setError(messageOf(failure));
        break;
      }
    }
    setBusy(false);
  }, []);

  useEffect(() => {
    if (url === null || chosen === shown.current) return;
    const timer = setTimeout(() => void load(url, chosen), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [url, chosen, load]);

  useEffect(() => () => running.current?.abort(), []);

  const ask = (wanted: string) => {
    if (wanted !== url) setSeen(null);
    setUrl(wanted);
    setError(null);
    void load(wanted, chosen);
  };
  return { url, seen, error, isBusy, ask };
}

export function PreviewCard({ preview, firstUrl }: { preview: Preview; firstUrl: string | undefined }) {
  const { url, seen, error, isBusy, ask } = preview;
  return (
    <Card
      title="Preview"
      actions={
        <Button isBusy={isBusy} disabled={!firstUrl} onClick={() => firstUrl && ask(firstUrl)}>
          {url === null ? "Show selection" : "Fetch again"}
        </Button>
      }
    >
      <div aria-live="polite" className="sr-only">
        {isBusy ? "Reading the page" : seen && !error ? `${counted(seen.lines, "line")} selected` : ""}
      </div>
      {url === null && (
        <p className="text-soft">
          {firstUrl
            ? "Fetches the first URL and shows what a check would see. It follows your selection; nothing is stored."
            : "Enter a URL first to see what is selected on its page."}
        </p>
      )}
      {url !== null && firstUrl !== url && (
        <p className="mb-3 text-sm text-warn wrap-anywhere">
          This is {shortUrl(url)}, no longer the first URL.
        </p>
      )}
      {error && (
        <div role="alert" className="mb-3 rounded-lg border border-bad bg-bad-pale p-3 text-bad wrap-anywhere">
          {withoutField(error)}
        </div>
      )}
      {url !== null && !seen && !error && <Skeleton lines={9} />}
      {seen && error && <p className="mb-3 text-sm text-soft">Below is what was selected before.</p>}
      {seen && <Seen seen={seen} />}
    </Card>
  );
}

function Seen({ seen }: { seen: Schema<"WatchPreview"> }) {
  const kind = kindOf(seen.classification);
  return (
    <div className="flex flex-col gap-4">
      {seen.problem && (
        <p className="rounded-lg border border-warn bg-warn-pale p-3 text-warn wrap-anywhere">
          A check of this page would fail: {seen.problem}
        </p>
      )}
      {seen.needsJavascript && (
        <p className="rounded-lg border border-warn bg-warn-pale p-3 text-warn wrap-anywhere">
          {seen.needsJavascript} A watch would see little or nothing of it. Look for a
          feed of the site, or for the address that its scripts load the content from.
        </p>
      )}
      <Facts
        items={[
          ["Title", short(seen.title ?? "–", 300)],
          ["Served at", `${short(seen.url, 300)} (status ${seen.statusCode})`],
          [
            "Price",
            seen.price ? (
              <>
                {price(seen.price.current, seen.price.currency)}
                {seen.price.list !== null && <> instead of {price(seen.price.list, seen.price.currency)}</>}
                <span className="text-soft"> (from {seen.price.source})</span>
              </>
            ) : (
              "none found"
            ),
          ],
          ["Availability", <StatusBadge key="availability" status={seen.availability} />],
          [
            "Kind",
            kind === null ? (
              "–"
            ) : seen.needsJavascript && kind.type === "other" ? (
              "unknown"
            ) : (
              <>
                {short(kind.type.replaceAll("_", " "), 40)}
                {kind.confidence !== null && (
                  <span className="text-soft">, {Math.round(kind.confidence * 100)} % sure</span>
                )}
                {kind.reasons.length > 0 && (
                  <ul className="list-disc pl-5 text-sm text-soft">
                    {kind.reasons.map((reason, index) => (
                      <li key={index}>{reason}</li>
                    ))}
                  </ul>
                )}
              </>
            ),
          ],
        ]}
      />
      <div>
        <h3 className="mb-1">
          Selected text <span className="font-normal text-soft">({counted(seen.lines, "line")})</span>
        </h3>
        {seen.lines === 0 ? (
          <p className="text-soft">Nothing on this page would be compared.</p>
        ) : (
          <TextBox label="Selected text">{seen.text}</TextBox>
        )}
        {seen.isCut && <p className="mt-1 text-sm text-soft">Only the beginning is shown.</p>}
      </div>
    </div>
  );
}
