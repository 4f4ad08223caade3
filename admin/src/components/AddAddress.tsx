"use client";

import { useRouter } from "next/navigation";
import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { Field, Input } from "@/components/Form";
import { ImportFeeds } from "@/components/ImportList/ImportFeeds";
import { ImportPages } from "@/components/ImportList/ImportPages";
import { Out, To } from "@/components/Links";
import { fetchOnce, importFeed, recordPath, summary, watchPage, type Seen } from "@/lib/addresses";
import { api, messageOf, withoutField, type Schema } from "@/lib/api";
import { cut } from "@/lib/format";
import { listIn, listWords } from "@/lib/lists";
import { leave, useUnsaved } from "@/lib/unsaved";
import { watchPath } from "@/lib/watch";

const LONGEST_NAME = 200;
const NO_ADDRESS = "Enter an address, such as example.com/jobs.";

/** What was typed before the dialog was loaded, and whether it was confirmed or pasted. */
export type Begun = { text: string; then: "look" | "paste" | null };

/** One field for any address: shows what is there, and offers what Webloom can do with it. With `onClose` it is a
 * dialog, which also closes when another page is about to be shown. */
export function AddAddress({ begun, onClose }: { begun?: Begun; onClose?: () => void }) {
  const listed = begun?.then && listIn(begun.text) ? begun.text : null;
  const asked = begun?.then && listed === null ? begun.text.trim() : null; // looked up at once
  const [text, setText] = useState(asked ?? (listed === null ? (begun?.text ?? "") : ""));
  const [seen, setSeen] = useState<Seen | null>(null);
  const [error, setError] = useState(asked === "" ? NO_ADDRESS : null);
  const [isBusy, setBusy] = useState(Boolean(asked));
  const [list, setList] = useState(listed); // which no field of one line can show
  const [importing, setImporting] = useState<"pages" | "feeds" | null>(null); // what of the list
  const [name, setName] = useState<string | null>(null); // null: as it was found
  const router = useRouter();
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const close = useUnsaved(list ?? name ?? "", name === null ? "" : (seen?.title ?? ""), onClose);

  function change(to: string) {
    running.current?.abort();
    setText(to);
    setList(null);
    setImporting(null);
    setName(null);
    setSeen(null);
    setError(null);
    setBusy(false);
  }

  async function look(address: string) {
    if (listIn(address)) {
      change("");
      setList(address);
      return;
    }
    change(address);
    if (!address.trim()) {
      setError(NO_ADDRESS);
      return;
    }
    setBusy(true);
    await fetchFound(address);
  }

  async function fetchFound(address: string) {
    const abort = new AbortController();
    running.current = abort;
    try {
      const found = await api.post("/api/recognise", { body: { address }, signal: abort.signal });
      if (!abort.signal.aborted) setSeen(found);
    } catch (failure) {
      if (!abort.signal.aborted) setError(withoutField(messageOf(failure)));
    }
    if (!abort.signal.aborted) setBusy(false);
  }

  const fetchAsked = useEffectEvent(() => asked && void fetchFound(asked));
  useEffect(() => void fetchAsked(), []);

  function go(href: string) {
    flushSync(() => change("")); // that is done, and no question is asked about it
    onClose?.();
    leave(() => router.push(href));
  }

  const content = (
    <div className="@container flex flex-col gap-4">
      <form
        className="flex flex-wrap items-start gap-3"
        noValidate // the API says what is wrong
        onSubmit={(event) => {
          event.preventDefault();
          void look(text);
        }}
      >
        <Field label="Address" error={error} className="flex-1 basis-60">
          <Input
            type="text"
            inputMode="url"
            autoCapitalize="none"
            autoComplete="off"
            spellCheck={false}
            placeholder="example.com/jobs"
            value={text}
            onChange={(event) => change(event.target.value)}
            onPaste={(event) => {
              const pasted = event.clipboardData.getData("text").trim();
              if (!listIn(pasted) && (text.trim() || !pasted)) return; // a part of an address
              event.preventDefault();
              void look(pasted);
            }}
          />
        </Field>
        <div className="@[22rem]:pt-6">
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Look it up
          </Button>
        </div>
      </form>
      <div role="status" className="sr-only">
        {isBusy ? "Fetching the address" : list !== null ? whatList(list) : seen ? summary(seen) : ""}
      </div>
      {list !== null && <Listed list={list} onImport={setImporting} />}
      {importing === "pages" && list !== null && (
        <ImportPages given={list} onClose={() => setImporting(null)} onDone={() => go("/watch")} />
      )}
      {importing === "feeds" && list !== null && (
        <ImportFeeds given={list} onClose={() => setImporting(null)} onDone={() => go("/feeds")} />
      )}
      {isBusy && (
        <p aria-hidden="true" className="text-soft">
          Fetching …
        </p>
      )}
      {seen && (
        <Found
          key={seen.url}
          seen={seen}
          name={name ?? seen.title ?? ""}
          onName={setName}
          onDone={go}
          onLeave={onClose}
        />
      )}
    </div>
  );
  if (!onClose) return content;
  return (
    <Dialog title="Add an address" onClose={close}>
      {content}
      <div className="mt-4 flex justify-end">
        <Button onClick={close}>Close</Button>
      </div>
    </Dialog>
  );
}

function whatList(text: string): string {
  const list = listIn(text);
  return list ? listWords(list) : "";
}

/** An OPML file may list feeds, pages, or both: who pasted it knows what they want of it. */
function Listed({ list, onImport }: { list: string; onImport: (as: "pages" | "feeds") => void }) {
  const isOpml = listIn(list)?.kind === "opml";
  return (
    <div className="flex flex-wrap items-center gap-3 border-t border-line pt-4">
      <p className="flex-1 basis-60">{whatList(list)}</p>
      {isOpml && (
        <Button kind="primary" onClick={() => onImport("feeds")}>
          Preview as feeds
        </Button>
      )}
      <Button kind={isOpml ? "plain" : "primary"} onClick={() => onImport("pages")}>
        {isOpml ? "Preview as pages" : "Preview the import"}
      </Button>
    </div>
  );
}

function Found({
  seen,
  name,
  onName,
  onDone,
  onLeave,
}: {
  seen: Seen;
  name: string;
  onName: (name: string) => void;
  onDone: (href: string) => void;
  onLeave?: () => void;
}) {
  const [doing, setDoing] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);

  const act = (what: string, how: () => Promise<string>) => ({
    isBusy: doing === what,
    disabled: doing !== null,
    onClick: async () => {
      setDoing(what);
      setError(null);
      try {
        onDone(await how());
      } catch (failure) {
        setError(withoutField(messageOf(failure)));
        setDoing(null);
      }
    },
  });

  return (
    <div className="flex flex-col gap-4 border-t border-line pt-4">
      <div>
        <p className="font-medium wrap-anywhere">{summary(seen)}</p>
        <p className="text-sm">
          <Out url={seen.url} />
        </p>
      </div>
      {seen.problem && <Warning>{seen.page ? "A check of this page would fail: " : ""}{seen.problem}.</Warning>}
      {seen.page?.needsJavascript && <Warning>{seen.page.needsJavascript}</Warning>}
      {seen.feed && <Sample feed={seen.feed} />}
      <Known seen={seen} onLeave={onLeave} />
      {(seen.feed || seen.page) && (
        <Field label="Name" hint="Leave empty to use the address">
          <Input maxLength={LONGEST_NAME} value={name} onChange={(event) => onName(event.target.value)} />
        </Field>
      )}
      {error && (
        <p role="alert" className="text-bad wrap-anywhere">
          {error}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {seen.feed && (
          <Button kind="primary" {...act("import", () => importFeed(seen.url, name.trim()))}>
            Import this feed
          </Button>
        )}
        {(seen.feed || seen.page) && (
          <Button
            kind={seen.feed || seen.problem || seen.page?.needsJavascript ? "plain" : "primary"}
            {...act("watch", () => watchPage(seen.url, name.trim()))}
          >
            Watch this page
          </Button>
        )}
        <Button {...act("fetch", () => fetchOnce(seen.url))}>Fetch into the inventory</Button>
      </div>
      {seen.page && seen.page.feeds.length > 0 && (
        <div>
          <h3 className="mb-2">Feeds that this page offers</h3>
          <ul className="flex flex-col gap-3">
            {seen.page.feeds.map((feed) => (
              <li key={feed.url} className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
                <div className="min-w-0 flex-1 basis-48 wrap-anywhere">
                  {feed.title}
                  <span className="block text-sm">
                    <Out url={feed.url} />
                  </span>
                </div>
                {feed.known ? (
                  <To href={`/feeds/${feed.known.feedId}`} onClick={onLeave} className="text-sm">
                    Already here: {cut(feed.known.name, 60)}
                  </To>
                ) : (
                  <Button {...act(feed.url, () => importFeed(feed.url, offeredName(feed, seen)))}>
                    Import<span className="sr-only"> {feed.title ?? feed.url}</span>
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

/** Many sites call all of their feeds "RSS". */
function offeredName(feed: Schema<"OfferedFeed">, seen: Seen): string {
  const title = feed.title ?? "";
  return cut(title.length > 5 || !seen.title ? title : [seen.title, title].filter(Boolean).join(" – "), LONGEST_NAME);
}

function Warning({ children }: { children: ReactNode }) {
  return <p className="rounded-lg border border-warn bg-warn-pale p-3 text-warn wrap-anywhere">{children}</p>;
}

function Sample({ feed }: { feed: Schema<"RecognisedFeed"> }) {
  return (
    <div>
      {feed.sample.length > 0 && (
        <ul aria-label="The first items" className="list-disc pl-5">
          {feed.sample.map((posting, index) => (
            <li key={index} className="wrap-anywhere">
              {cut(posting.title, 120)}
              {posting.company && <span className="text-soft"> – {cut(posting.company, 60)}</span>}
            </li>
          ))}
        </ul>
      )}
      {feed.failed > 0 && (
        <p className="mt-1 text-sm text-warn">
          {feed.failed} of {feed.items} items have no title, or neither id nor link: they would be skipped.
        </p>
      )}
    </div>
  );
}

function Known({ seen, onLeave }: { seen: Seen; onLeave?: () => void }) {
  const { feed, watches, record } = seen.known;
  if (!feed && watches.length === 0 && !record) return null;
  return (
    <div>
      <p>Webloom has it already:</p>
      <ul className="list-disc pl-5">
        {feed && (
          <li>
            <To href={`/feeds/${feed.feedId}`} onClick={onLeave} className="wrap-anywhere">
              Feed {cut(feed.name, 120)}
            </To>
          </li>
        )}
        {watches.map((watch) => (
          <li key={watch.jobId}>
            <To href={watchPath(watch.jobId)} onClick={onLeave} className="wrap-anywhere">
              Watch {cut(watch.name, 120)}
            </To>
          </li>
        ))}
        {record && (
          <li>
            <To href={recordPath(seen.url)} onClick={onLeave}>
              Record of the inventory
            </To>
          </li>
        )}
      </ul>
    </div>
  );
}
