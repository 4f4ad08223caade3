"use client";

import { useEffect, useEffectEvent, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { Dialog, DialogButtons } from "@/components/Dialog";
import { ErrorBox } from "@/components/States";
import { counted, number } from "@/lib/format";
import { importFeeds, previewFeeds, type Content, type FeedPreview, type FeedsImported } from "@/lib/lists";
import { short } from "@/lib/watch";
import { ListFile } from "./ListFile";
import { PreviewTable } from "./PreviewTable";

type Preview = { name: "preview"; file: string; content: Content; preview: FeedPreview };
type Step = { name: "choose" } | { name: "busy"; what: string } | Preview | { name: "done"; result: FeedsImported };

/** Adds the feeds of an OPML file, after they were shown. `given` is one that is known already. */
export function ImportFeeds({
  given,
  onClose,
  onImported,
  onDone = onClose,
}: {
  given?: string;
  onClose: () => void;
  onImported?: () => void;
  onDone?: () => void;
}) {
  const [step, setStep] = useState<Step>(given ? { name: "busy", what: reading(GIVEN) } : { name: "choose" });
  const [error, setError] = useState<{ error: unknown; what: string } | null>(null);

  const settle = (problem: string, before: Step, work: Promise<Step>) =>
    work.then(setStep, (failure: unknown) => {
      setStep(before);
      setError({ error: failure, what: problem });
    });
  const show = (body: Blob, file: string) => settle(`${file} could not be imported`, { name: "choose" }, shown(body, file));
  const showGiven = useEffectEvent(() => given && void show(new Blob([given]), GIVEN));
  useEffect(() => void showGiven(), []);

  function read(file: File) {
    setError(null);
    setStep({ name: "busy", what: reading(file.name) });
    void show(file, file.name);
  }

  function add(from: Preview) {
    setError(null);
    setStep({ name: "busy", what: `Adding the feeds of ${from.file} …` });
    void settle(`${from.file} could not be imported`, from, added(from.content, onImported));
  }

  const close = step.name === "done" ? onDone : onClose;
  return (
    <Dialog title="Import OPML" onClose={close} isWide>
      <div className="flex flex-col gap-4">
        {step.name === "choose" && (
          <ListFile
            label="OPML file"
            hint="Choose a file or drop one here. You see its feeds before they are added."
            accept=".opml,.xml,text/xml,text/x-opml,application/xml"
            isBusy={false}
            onFile={read}
          />
        )}
        <div role="status" className={step.name === "busy" ? "text-soft wrap-anywhere" : "sr-only"}>
          {step.name === "busy" && step.what}
        </div>
        {error && <ErrorBox error={error.error} title={error.what} />}
        {step.name === "preview" && <Previewed step={step} onBack={() => setStep({ name: "choose" })} onAdd={() => add(step)} />}
        {step.name === "done" && <Outcome result={step.result} />}
        {step.name !== "preview" && (
          <div className="flex justify-end">
            <Button kind={step.name === "done" ? "primary" : "plain"} onClick={close}>
              {step.name === "done" ? "Done" : "Cancel"}
            </Button>
          </div>
        )}
      </div>
    </Dialog>
  );
}

const GIVEN = "The list";

function reading(name: string): string {
  return `Reading ${name} …`;
}

async function shown(body: Blob, file: string): Promise<Step> {
  const content = { body, type: "text/x-opml" };
  return { name: "preview", file, content, preview: await previewFeeds(content) };
}

async function added(content: Content, onImported?: () => void): Promise<Step> {
  const result = await importFeeds(content);
  onImported?.();
  return { name: "done", result };
}

function Previewed({
  step: { file, preview },
  onBack,
  onAdd,
}: {
  step: Preview;
  onBack: () => void;
  onAdd: () => void;
}) {
  const said = useRef<HTMLParagraphElement>(null);
  useEffect(() => said.current?.focus(), []);
  const { total, known, repeated, refused, pages } = preview;
  const rows = preview.entries.map(({ url, name, tags, state, reason }) => ({
    state,
    name,
    url,
    facts: tags.length > 0 ? [`tagged ${tags.join(", ")}`] : [],
    reason,
    notes: [],
  }));
  return (
    <>
      <p ref={said} tabIndex={-1} role="status" className="wrap-anywhere">
        {file}: {counted(preview.new, "new feed")}, {number(known)} known already, {number(repeated)} listed twice,{" "}
        {number(refused)} refused.
      </p>
      {pages > 0 && (
        <p className="text-soft">
          {counted(pages, "entry has a page", "entries have a page")} and no feed: to watch the pages, import the file under Watch.
        </p>
      )}
      {total > 0 && <PreviewTable label="Feeds of the file" counts={preview} rows={rows} />}
      <DialogButtons>
        <Button onClick={onBack}>Back</Button>
        <Button kind="primary" disabled={preview.new === 0} onClick={onAdd}>
          Add {counted(preview.new, "feed")}
        </Button>
      </DialogButtons>
    </>
  );
}

function Outcome({ result: { added, known, refused, refusals } }: { result: FeedsImported }) {
  const said = useRef<HTMLParagraphElement>(null);
  useEffect(() => said.current?.focus(), []);
  return (
    <>
      <p ref={said} tabIndex={-1} role="status">
        {counted(added, "feed")} added, {number(known)} known already, {number(refused)} refused.
        {added > 0 && " New feeds are imported now."}
      </p>
      {refusals.length > 0 && (
        <div className="max-h-60 overflow-y-auto" role="region" aria-label="Refused feeds" tabIndex={0}>
          <ul className="list-disc pl-5 text-sm wrap-anywhere">
            {refusals.map(({ url, name, reason }) => (
              <li key={url}>
                {name === url ? short(url, 300) : `${name}, ${short(url, 300)}`}: {reason}
              </li>
            ))}
            {refused > refusals.length && <li>and {number(refused - refusals.length)} more</li>}
          </ul>
        </div>
      )}
    </>
  );
}
