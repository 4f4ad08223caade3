"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Marked, TextDiffView, type Form } from "@/components/Diff";
import { Out } from "@/components/Links";
import { Empty, Loaded } from "@/components/States";
import { api, type Schema } from "@/lib/api";
import { counted, number } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";

const URLS = 30;
const LONGEST_URL = 300;

/** How two versions of a page differ. */
export function Difference({
  jobId,
  url,
  from,
  to,
  form,
}: {
  jobId: string;
  url: string;
  from: number;
  to: number;
  form: Form;
}) {
  const key = JSON.stringify([jobId, url, from, to]);
  const found = useSteady(
    useResource(from === to ? null : key, async (signal) => {
      const answer = await api.get("/api/watch/pages/diff", { query: { jobId, url, from, to }, signal });
      return answer as Schema<"VersionDiff">;
    }),
  );
  if (from === to) return <Empty title="Both are the same version">Choose another one, or read it.</Empty>;
  return (
    <Loaded from={found} lines={10}>
      {({ diff, version }) => (
        <Whole
          key={`${version.previous} ${version.current}`}
          diff={diff}
          form={form}
          readNew={async () => {
            const newer = await api.get("/api/watch/pages/versions/{version}", {
              path: { version: version.current },
              query: { jobId, url },
            });
            const { text } = newer.parsed as { text?: unknown };
            return typeof text === "string" ? text.split("\n") : [];
          }}
        />
      )}
    </Loaded>
  );
}

function Whole({ diff, form, readNew }: { diff: Schema<"PageDiff">; form: Form; readNew: () => Promise<string[]> }) {
  const lists = [diff.images, diff.links].some((each) => each.addedCount + each.removedCount > 0);
  const title = diff.title ?? null; // left out by the API where nothing differs, as is the text
  const text = diff.text ?? null;
  return (
    <div className="flex flex-col gap-5">
      {title && (
        <div>
          <h3 className="mb-1">Title</h3>
          <p className="wrap-anywhere">
            <Marked
              words={[
                ["delete", title.previous ?? "none"],
                ["equal", " "],
                ["insert", title.current ?? "none"],
              ]}
            />
          </p>
        </div>
      )}
      {text ? (
        <div>
          <h3 className="mb-1">Text</h3>
          <TextDiffView text={text} form={form} readNew={readNew} />
        </div>
      ) : (
        <p className="text-soft">
          The text is the same.{!title && !lists && " Price or availability may differ: see the change log."}
        </p>
      )}
      <Urls name="Images" changes={diff.images} />
      <Urls name="Links" changes={diff.links} />
    </div>
  );
}

function Urls({ name, changes }: { name: string; changes: Schema<"UrlChanges"> }) {
  const [most, setMost] = useState(URLS);
  const all = [
    ...changes.removed.map((url) => ["delete", url] as const),
    ...changes.added.map((url) => ["insert", url] as const),
  ];
  if (all.length === 0) return null;
  return (
    <div>
      <h3 className="mb-1">
        {name}{" "}
        <span className="font-normal text-soft">
          ({number(changes.addedCount)} added, {number(changes.removedCount)} removed)
        </span>
      </h3>
      <ul className="flex flex-col gap-1 text-sm">
        {all.slice(0, most).map(([kind, url], index) => (
          <li key={index} className="flex gap-2">
            <span className={`shrink-0 font-semibold ${kind === "delete" ? "text-bad" : "text-good"}`}>
              {kind === "delete" ? "− removed" : "+ added"}
            </span>
            <span className="min-w-0">
              <Out url={url}>{url.length > LONGEST_URL ? `${url.slice(0, LONGEST_URL)}…` : url}</Out>
            </span>
          </li>
        ))}
      </ul>
      {all.length > most && (
        <Button className="mt-2" onClick={() => setMost(most + 200)}>
          Show more ({counted(all.length - most, "address", "addresses")} left)
        </Button>
      )}
    </div>
  );
}
