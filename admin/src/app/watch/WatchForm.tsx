"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { Card } from "@/components/Card";
import { Checkbox, Field, Input, Textarea } from "@/components/Form";
import { messageOf, withoutField } from "@/lib/api";
import { number } from "@/lib/format";
import { TAGS_HINT } from "@/lib/tags";
import { useUnsaved } from "@/lib/unsaved";
import { LABELS, placeOf, selectionOf, Unfit, urlsOf, type Place, type Typed } from "./formState";
import { PreviewCard, usePreview } from "./WatchPreview";
import { ScheduleFields } from "./ScheduleFields";
import { Targets } from "./Targets";

// Beside the cards of the form, whatever their number.
const RIGHT =
  "min-w-0 xl:sticky xl:top-18 xl:col-start-2 xl:row-start-1 xl:row-end-8 xl:-m-2 xl:p-2 " +
  "xl:max-h-[calc(100vh-5rem)] xl:overflow-y-auto";
const LEFT = "min-w-0 xl:col-start-1"; // the preview is on the right, or behind the selection where there is no room

/** A new watch, or a change of one. `onSave` says what went wrong by raising it. */
export function WatchForm({
  start,
  isNew,
  onSave,
  cancelTo,
}: {
  start: Typed;
  isNew: boolean;
  onSave: (form: Typed, before: Typed) => Promise<void>;
  cancelTo: string;
}) {
  const [before, setBefore] = useState(start); // as it was saved last; what is loaded again meanwhile was not edited
  const [form, setForm] = useState(start);
  useUnsaved(form, before);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<{ place: Place; message: string } | null>(null);
  const preview = usePreview(selectionOf(form));
  const urls = urlsOf(form);
  const set = (part: Partial<Typed>) => {
    setForm({ ...form, ...part });
    if (problem && problem.place in part) setProblem(null);
  };
  const seen = preview.error === null ? null : { place: placeOf(preview.error, form), message: preview.error };
  const errorAt = (place: Place) => {
    const error = [problem, seen].find((each) => each?.place === place);
    return error ? withoutField(error.message) : null;
  };
  const text = (field: "urls" | "keep" | "drop" | "ignoreText" | "ignorePattern" | "textContains", rows: number) => (
    <Textarea
      rows={rows}
      spellCheck={false}
      value={form[field]}
      onChange={(event) => set({ [field]: event.target.value })}
    />
  );

  async function save() {
    setBusy(true);
    setProblem(null);
    try {
      await onSave(form, before);
      setBefore(form);
    } catch (failure) {
      const message = messageOf(failure);
      setProblem({ place: failure instanceof Unfit ? failure.place : placeOf(message, form), message });
      setBusy(false);
    }
  }

  return (
    <form
      className="grid grid-cols-1 items-start gap-6 xl:grid-cols-2"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Card title="Pages" className={LEFT}>
        <div className="flex flex-col gap-4">
          <Field
            label="URLs"
            error={errorAt("urls")}
            hint={urls.length > 1 ? `${number(urls.length)} URLs, one per line` : "One per line, up to 10,000"}
          >
            {text("urls", 4)}
          </Field>
          <Field label="Name" error={errorAt("name")} hint={isNew ? "Leave empty to use the first URL" : undefined}>
            <Input maxLength={200} value={form.name} onChange={(event) => set({ name: event.target.value })} />
          </Field>
          <Field label="Tags" error={errorAt("tags")} hint={TAGS_HINT}>
            <Input value={form.tags} onChange={(event) => set({ tags: event.target.value })} />
          </Field>
          <Checkbox
            label="Other programs may send events for these pages"
            checked={form.acceptsEvents}
            onChange={(event) => set({ acceptsEvents: event.target.checked })}
          />
        </div>
      </Card>
      <Card title="When" className={LEFT}>
        <ScheduleFields form={form} isNew={isNew} set={set} errorAt={errorAt} />
      </Card>
      <Card title="What to compare" className={LEFT}>
        <p className="mb-3 text-sm text-soft">
          Leave the selectors empty to compare the main text. A selector is CSS, or XPath if it begins with /, ( or
          xpath:. Write one per line, here and below.
        </p>
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <Field label="Keep only" error={errorAt("keep")} hint="Selectors, such as main or #product .price">
            {text("keep", 3)}
          </Field>
          <Field label="Leave out" error={errorAt("drop")} hint="Selectors, such as .advert">
            {text("drop", 3)}
          </Field>
          <Field label="Ignore lines with" error={errorAt("ignoreText")} hint="Text, case-insensitive">
            {text("ignoreText", 3)}
          </Field>
          <Field
            label="Ignore lines like"
            error={errorAt("ignorePattern")}
            hint="Patterns (RE2), such as ^Updated .* ago$"
          >
            {text("ignorePattern", 3)}
          </Field>
        </div>
        <div className="mt-4 flex flex-wrap gap-x-6 gap-y-2">
          <Checkbox
            label="Ignore the order of lines"
            checked={form.sortLines}
            onChange={(event) => set({ sortLines: event.target.checked })}
          />
          <Checkbox
            label="Ignore repeated lines"
            checked={form.uniqueLines}
            onChange={(event) => set({ uniqueLines: event.target.checked })}
          />
        </div>
      </Card>
      <div className={RIGHT}>
        <PreviewCard preview={preview} firstUrl={urls[0]} />
      </div>
      <Card title="When to notify" className={LEFT}>
        <p className="mb-3 text-sm text-soft">
          Every change is stored. With nothing set here, you are notified of every change; otherwise of those that match any
          of these.
        </p>
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <Field
            className="sm:col-span-2"
            label="New text contains"
            error={errorAt("textContains")}
            hint="One per line, case-insensitive"
          >
            {text("textContains", 2)}
          </Field>
          <Field label="Price below" error={errorAt("priceBelow")}>
            <Input
              inputMode="decimal"
              value={form.priceBelow}
              onChange={(event) => set({ priceBelow: event.target.value })}
            />
          </Field>
          <Field label="Price moves by, percent" error={errorAt("priceChangePercent")} hint="Or more, up or down">
            <Input
              inputMode="decimal"
              value={form.priceChangePercent}
              onChange={(event) => set({ priceChangePercent: event.target.value })}
            />
          </Field>
        </div>
      </Card>
      <Card title="Notifications" className={LEFT}>
        <Targets targets={form.targets} error={errorAt("targets")} onChange={(targets) => set({ targets })} />
      </Card>
      {problem && (
        <p role="alert" className={`rounded-lg border border-bad bg-bad-pale p-3 text-bad wrap-anywhere ${LEFT}`}>
          {[LABELS[problem.place], withoutField(problem.message)].filter(Boolean).join(": ")}
        </p>
      )}
      <div className={`flex flex-wrap gap-2 ${LEFT}`}>
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {isNew ? "Add the watch" : "Save"}
        </Button>
        <LinkButton href={cancelTo}>Cancel</LinkButton>
      </div>
    </form>
  );
}
