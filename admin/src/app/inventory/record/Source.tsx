"use client";

import { useMemo } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { saveText } from "@/lib/download";
import { SourceText } from "@/components/SourceText";
import { Loaded } from "@/components/States";
import { say, sayError } from "@/components/Toasts";
import { addressOf, send, type Schema } from "@/lib/api";
import { useResource } from "@/lib/resource";
import { detailsOf, truncation } from "../details";

const HEAD = 100_000; // characters in which a title is looked for

/** The source as it came, apart from the record as it can be long. */
export function Source({ record }: { record: Schema<"RecordResponse"> }) {
  const details = detailsOf(record);
  const isText = Boolean(record.metadata.status_code) && !details.source_omitted;
  // The hash too: the same source needs no other look.
  const key = isText ? `source ${record.url} ${details.content_hash ?? record.updated_at}` : null;
  const source = useResource(key, (signal) => sourceOf(record.url, signal));
  const text = source.data;
  const title = useMemo(() => (text ? titleOf(text, details.content_type) : null), [text, details.content_type]);
  return (
    <Card
      title="Source"
      actions={
        text && (
          <>
            <Button onClick={() => navigator.clipboard.writeText(text).then(() => say("Copied"), sayError)}>
              Copy
            </Button>
            <Button onClick={() => saveText("source.txt", text)}>Download</Button>
          </>
        )
      }
    >
      {!isText ? (
        <p className="text-soft">
          {details.source_omitted ? "The body is not text, so it was not kept." : "No response received."}
        </p>
      ) : (
        <Loaded from={source} lines={10}>
          {(found) => (
            <>
              {title && (
                <p className="mb-3 wrap-anywhere">
                  <span className="text-soft">Title: </span>
                  {title}
                </p>
              )}
              {details.source_truncated_at !== undefined && (
                <p className="mb-3 text-warn">{truncation(details)}</p>
              )}
              {found === "" ? (
                <p className="text-soft">The body is empty.</p>
              ) : (
                <SourceText text={found} contentType={details.content_type} label="Source" />
              )}
            </>
          )}
        </Loaded>
      )}
    </Card>
  );
}

async function sourceOf(url: string, signal: AbortSignal): Promise<string> {
  const response = await send(addressOf("/metadata/source", {}, { url, submit: false }), { signal });
  if (response.status === 202) throw new Error("The URL is being fetched again; its source will follow.");
  return response.text();
}

/** Parsed apart from the page: nothing of it is run or loaded. */
function titleOf(text: string, contentType: string | null | undefined): string | null {
  if (contentType && !contentType.toLowerCase().includes("html")) return null;
  const found = /<title[^>]{0,1000}>[^<]{0,2000}/i.exec(text.slice(0, HEAD))?.[0];
  return found ? new DOMParser().parseFromString(found, "text/html").title || null : null;
}
