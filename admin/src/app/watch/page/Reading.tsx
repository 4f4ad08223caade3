"use client";

import { Out } from "@/components/Links";
import { Loaded } from "@/components/States";
import { Time } from "@/components/Time";
import { api } from "@/lib/api";
import { counted, number } from "@/lib/format";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { short } from "@/lib/watch";
import { TextBox } from "../TextBox";

const LONGEST_TEXT = 50_000;
const URLS = 200;

/** One version of a page, as it was stored. */
export function Reading({ jobId, url, version }: { jobId: string; url: string; version: number }) {
  const found = useSteady(
    useResource(JSON.stringify([jobId, url, version]), (signal) =>
      api.get("/api/watch/pages/versions/{version}", { path: { version }, query: { jobId, url }, signal }),
    ),
  );
  return (
    <Loaded from={found} lines={10}>
      {({ parsed, createdAt }) => {
        const { title, text, images, links } = parsed as Record<string, unknown>;
        return (
          <div className="flex flex-col gap-3">
            <p className="text-soft wrap-anywhere">
              {typeof title === "string" && title && <strong className="font-semibold text-ink">{short(title)}</strong>}{" "}
              <Time at={createdAt} />
            </p>
            {typeof text === "string" && text !== "" ? (
              <TextBox label={`Text of version ${version}`}>
                {text.slice(0, LONGEST_TEXT)}
                {text.length > LONGEST_TEXT && `\n… ${counted(text.length - LONGEST_TEXT, "more character")}`}
              </TextBox>
            ) : (
              <p className="text-soft">This version has no text.</p>
            )}
            <Urls name="image" urls={images} />
            <Urls name="link" urls={links} />
          </div>
        );
      }}
    </Loaded>
  );
}

function Urls({ name, urls }: { name: string; urls: unknown }) {
  const known = Array.isArray(urls) ? urls.filter((each): each is string => typeof each === "string") : [];
  if (known.length === 0) return null;
  return (
    <details>
      <summary className="cursor-pointer text-accent">{counted(known.length, name)}</summary>
      <ul className="mt-1 flex flex-col gap-1 text-sm">
        {known.slice(0, URLS).map((url, index) => (
          <li key={index}>
            <Out url={url}>{short(url, 300)}</Out>
          </li>
        ))}
        {known.length > URLS && <li className="text-soft">and {number(known.length - URLS)} more</li>}
      </ul>
    </details>
  );
}
