"use client";

import { useEffect, useEffectEvent, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { Dialog, DialogButtons } from "@/components/Dialog";
import { Field, Textarea } from "@/components/Form";
import { ErrorBox } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import { counted, number } from "@/lib/format";
import { contentOf, importPages, previewPages, type Content, type PagePreview, type PagesImported } from "@/lib/lists";
import type { Progress } from "@/lib/bulk";
import { useUnsaved } from "@/lib/unsaved";
import { ListFile } from "./ListFile";
import { PagesPreview } from "./PagesPreview";

type Step =
  | { name: "choose" }
  | { name: "reading"; what: string }
  | { name: "preview"; content: Content; preview: PagePreview }
  | { name: "adding"; progress: Progress }
  | { name: "done"; result: PagesImported };

/** Watches from a list of pages: chosen, shown, added. `given` is a list that is known already. */
export function ImportPages({ given, onClose, onDone = onClose }: { given?: string; onClose: () => void; onDone?: () => void }) {
  const [step, setStep] = useState<Step>(given ? { name: "reading", what: nameOf(given) } : { name: "choose" });
  const [text, setText] = useState(given ?? "");
  const [error, setError] = useState<{ error: unknown; what: string } | null>(null);
  const typed = text === given || step.name === "done" ? "" : text;
  const close = useUnsaved(typed, "", onClose);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  async function attempt(what: string, before: Step, work: (signal: AbortSignal) => Promise<Step>) {
    const abort = (running.current = new AbortController());
    try {
      setStep(await work(abort.signal));
    } catch (failure) {
      if (running.current !== abort) return; // something else was begun
      setStep(before);
      setError({ error: abort.signal.aborted ? new Error("Stopped. The watches that were added stay.") : failure, what });
    }
  }

  const show = (list: File | string) =>
    attempt(`${nameOf(list)} can't be imported`, { name: "choose" }, async (signal) => {
      const content = await contentOf(list);
      return { name: "preview", content, preview: await previewPages(content, signal) };
    });
  const showGiven = useEffectEvent(() => given && void show(given));
  useEffect(() => void showGiven(), []);

  function read(list: File | string) {
    setError(null);
    setStep({ name: "reading", what: nameOf(list) });
    void show(list);
  }

  function again() {
    setText("");
    setStep({ name: "choose" });
  }

  function add(from: Extract<Step, { name: "preview" }>, skipKnown: boolean, total: number) {
    setError(null);
    setStep({ name: "adding", progress: { done: 0, total } });
    void attempt("The import did not end", from, async (signal) => {
      const onProgress = (progress: Progress) => setStep({ name: "adding", progress });
      return { name: "done", result: await importPages(from.content, skipKnown, onProgress, signal) };
    });
  }

  return (
    <Dialog title={step.name === "done" ? "List imported" : "Import a list of pages"} onClose={step.name === "done" ? onDone : close} isWide>
      <div className="flex flex-col gap-4">
        {(step.name === "choose" || step.name === "reading") && (
          <Choose text={text} setText={setText} isBusy={step.name === "reading"} onRead={read} />
        )}
        <div role="status" className={step.name === "reading" ? "text-soft wrap-anywhere" : "sr-only"}>
          {step.name === "reading" && `${step.what} is being read …`}
        </div>
        {error && <ErrorBox error={error.error} title={error.what} />}
        {step.name === "preview" && (
          <PagesPreview
            preview={step.preview}
            onBack={() => setStep({ name: "choose" })}
            onAdd={(skipKnown, total) => add(step, skipKnown, total)}
          />
        )}
        {step.name === "adding" && <Adding progress={step.progress} onStop={() => running.current?.abort()} />}
        {step.name === "done" && <Outcome result={step.result} onAnother={again} onDone={onDone} />}
        {(step.name === "choose" || step.name === "reading") && (
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Cancel</Button>
            <Button kind="primary" isBusy={step.name === "reading"} disabled={text.trim() === ""} onClick={() => read(text)}>
              Preview
            </Button>
          </div>
        )}
      </div>
    </Dialog>
  );
}

function nameOf(list: File | string): string {
  return typeof list === "string" ? "The list" : list.name;
}

function Choose({
  text,
  setText,
  isBusy,
  onRead,
}: {
  text: string;
  setText: (text: string) => void;
  isBusy: boolean;
  onRead: (list: File) => void;
}) {
  return (
    <>
      <ListFile
        label="File"
        hint="Choose a file or drop one here: addresses line by line, OPML, JSON, or a backup of changedetection.io (zip)."
        accept=".txt,.opml,.xml,.json,.zip,text/plain,application/json,application/zip"
        isBusy={isBusy}
        onFile={onRead}
      />
      <Field label="List" hint="Or paste the list. Each entry becomes a watch; you see them before they are added.">
        <Textarea rows={8} value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />
      </Field>
    </>
  );
}

function Adding({ progress: { done, total }, onStop }: { progress: Progress; onStop: () => void }) {
  const words = `${number(done)} of ${number(total)} entries`;
  return (
    <>
      <p>{words}</p>
      <progress className="block w-full" aria-label={words} value={done} max={Math.max(1, total)} />
      <div className="flex justify-end">
        <Button onClick={onStop}>Stop</Button>
      </div>
    </>
  );
}

function Outcome({ result, onAnother, onDone }: { result: PagesImported; onAnother: () => void; onDone: () => void }) {
  const said = useRef<HTMLParagraphElement>(null);
  useEffect(() => said.current?.focus(), []);
  const { added, known, refused, refusals } = result;
  return (
    <>
      <p ref={said} tabIndex={-1} role="status">
        {counted(added, "watch", "watches")} added, {number(known)} left out, {number(refused)} refused.
      </p>
      {refusals.length > 0 && (
        <div className="px-4 sm:px-5">
          <Table label="Rejected entries">
            <Head columns={{ Entry: "text", Why: "text" }} />
            <tbody>
              {refusals.map(({ entry, reason }, index) => (
                <tr key={index}>
                  <Td className="min-w-40 wrap-anywhere">{entry}</Td>
                  <Td className="min-w-40 wrap-anywhere">{reason}</Td>
                </tr>
              ))}
            </tbody>
          </Table>
        </div>
      )}
      {refused > refusals.length && <p className="text-soft">These are the first {number(refusals.length)} of them.</p>}
      <DialogButtons>
        <Button onClick={onAnother}>Another list</Button>
        <Button kind="primary" onClick={onDone}>
          Done
        </Button>
      </DialogButtons>
    </>
  );
}
