"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Checkbox, Field, Input, Select } from "@/components/Form";
import { To } from "@/components/Links";
import { ApiError, messageOf, type Schema } from "@/lib/api";
import { wrongMinutes } from "@/lib/minutes";
import { TAGS_HINT } from "@/lib/tags";
import { useUnsaved } from "@/lib/unsaved";
import { FeedPreview, usePreview } from "./FeedPreview";
import { FORMATS } from "./formats";
import { MappingRows } from "./MappingRows";
import { previewBodyOf, type Settings } from "./settings";

type Props = {
  first: Settings;
  isNew: boolean;
  onSave: (settings: Settings, before: Settings, isImported: boolean) => Promise<void>;
};

const NEW_URL = "The address of the feed: RSS, Atom, JSON Feed or job-board XML.";
const MOVED_URL = "Change this if the feed has moved. Its runs and postings are kept, and no posting counts as new.";
const CLOSE_MISSING =
  "Only for a feed that lists every open posting: after a complete import without failed records, postings that it no " +
  "longer lists are closed. They open again when they come back. With a feed that lists only its latest postings, " +
  "the older ones would be closed.";

/** The settings of a new or existing feed, with a preview of their result. */
export function FeedForm({ first, isNew, onSave }: Props) {
  const [settings, setSettings] = useState(first);
  const [before, setBefore] = useState(first); // as it was saved last
  const [isImported, setImported] = useState(true);
  const [isSaving, setSaving] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [isTried, setTried] = useState(false); // to be saved: a half-typed interval is not yet wrong
  const wrongInterval = settings.minutes.trim() ? wrongMinutes(settings.minutes) : null;
  const preview = usePreview();
  useUnsaved(settings, before);
  const set = (part: Partial<Settings>) => setSettings((now) => ({ ...now, ...part }));
  const wanted = previewBodyOf(settings);
  const save = async () => {
    setTried(true);
    if (wrongInterval) return;
    setSaving(true);
    setError(null);
    try {
      await onSave(settings, before, isImported);
      setBefore(settings);
    } catch (failure) {
      setError(failure);
    } finally {
      setSaving(false);
    }
  };
  return (
    <div className="grid items-start gap-6 xl:grid-cols-2">
      <Card title={isNew ? undefined : "Settings"}>
        <form
          className="flex flex-col gap-5"
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          <Field label="URL" hint={isNew ? NEW_URL : MOVED_URL}>
            <Input
              required
              inputMode="url"
              autoComplete="off"
              spellCheck={false}
              placeholder="https://example.com/jobs.rss"
              value={settings.url}
              onChange={(event) => set({ url: event.target.value })}
            />
          </Field>
          <Field label="Name" hint={isNew ? "Leave empty to use the URL." : undefined}>
            <Input
              required={!isNew}
              maxLength={200}
              value={settings.name}
              onChange={(event) => set({ name: event.target.value })}
            />
          </Field>
          <Field label="Tags" hint={TAGS_HINT}>
            <Input value={settings.tags} onChange={(event) => set({ tags: event.target.value })} />
          </Field>
          <Field
            label="Format"
            hint="Keep auto unless the preview shows that the format was detected wrongly."
          >
            <Select value={settings.format} onChange={(event) => set({ format: event.target.value as Settings["format"] })}>
              {Object.entries(FORMATS).map(([name, about]) => (
                <option key={name} value={name}>
                  {about ? `${name}: ${about}` : name}
                </option>
              ))}
            </Select>
          </Field>
          <Field
            label="Interval in minutes"
            hint="Between the end of an import and the next one. Leave empty for the default interval of this Webloom."
            error={isTried ? wrongInterval : null}
          >
            <Input
              inputMode="decimal"
              className="max-w-40"
              value={settings.minutes}
              onChange={(event) => set({ minutes: event.target.value })}
            />
          </Field>
          {isNew && (
            <Choice
              label="Import on schedule"
              hint="If off, the feed is paused and imported only on demand."
              isChosen={settings.enabled}
              onChoice={(enabled) => set({ enabled })}
            />
          )}
          <Choice
            label="Close postings that leave the feed"
            hint={CLOSE_MISSING}
            isChosen={settings.closeMissing}
            onChoice={(closeMissing) => set({ closeMissing })}
          />
          <MappingRows rows={settings.mapping} onRows={(mapping) => set({ mapping })} />
          {isNew && (
            <Choice
              label="Import right after adding"
              hint="If off, the first import is one interval from now."
              isChosen={isImported}
              onChoice={setImported}
            />
          )}
          {error !== null && <Refusal error={error} />}
          <div className="flex flex-wrap gap-2">
            <Button isBusy={preview.isBusy} disabled={!wanted.url} onClick={() => preview.show(wanted)}>
              Preview
            </Button>
            <Button type="submit" kind="primary" isBusy={isSaving}>
              {isNew ? "Add feed" : "Save changes"}
            </Button>
          </div>
        </form>
      </Card>
      <FeedPreview
        state={preview.state}
        wanted={wanted}
        isBusy={preview.isBusy}
        onPreview={() => preview.show(wanted)}
      />
    </div>
  );
}

type ChoiceProps = { label: string; hint: string; isChosen: boolean; onChoice: (isChosen: boolean) => void };

function Choice({ label, hint, isChosen, onChoice }: ChoiceProps) {
  return (
    <div>
      <Checkbox label={label} checked={isChosen} onChange={(event) => onChoice(event.target.checked)} />
      <p className="text-sm text-soft">{hint}</p>
    </div>
  );
}

/** The API's refusal, with a link if the URL is already a feed. */
function Refusal({ error }: { error: unknown }) {
  const isKnown = error instanceof ApiError && error.status === 409;
  const known = isKnown ? (error.problem.feed as Schema<"FeedResponse"> | undefined) : undefined;
  return (
    <div role="alert" className="rounded-lg border border-bad bg-bad-pale p-3 text-bad wrap-anywhere">
      {known ? (
        <>
          This URL is already a feed:{" "}
          <To href={`/feeds/${known.feedId}`} className="underline">
            {known.name}
          </To>
          . Edit that one instead.
        </>
      ) : (
        messageOf(error)
      )}
    </div>
  );
}
