"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Confirm, Dialog } from "@/components/Dialog";
import { Checkbox, Field, Input } from "@/components/Form";
import { messageOf } from "@/lib/api";
import { MINUTES_HINT, minutesIn } from "@/lib/minutes";
import { TAGS_HINT, tagsIn } from "@/lib/tags";
import { useUnsaved } from "@/lib/unsaved";
import type { BulkForm } from "./types";

/** A form that asks for one value before an action on many rows. `bodyOf` throws an error that says what is wrong. */
export function asking({
  title,
  label,
  hint,
  yes,
  bodyOf,
}: {
  title: (count: string) => string;
  label: string;
  hint: string;
  yes: string;
  bodyOf: (text: string) => object;
}): BulkForm {
  return function Asking({ count, undo, onGo, onClose }) {
    const [text, setText] = useState("");
    const [error, setError] = useState<string | null>(null);
    const close = useUnsaved(text, "", onClose);
    return (
      <Dialog title={title(count)} onClose={close}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            try {
              onGo(bodyOf(text));
            } catch (failure) {
              setError(messageOf(failure));
            }
          }}
        >
          <Field label={label} hint={hint} error={error}>
            <Input value={text} onChange={(event) => setText(event.target.value)} />
          </Field>
          <p className="mt-3 text-sm text-soft">{undo}</p>
          <div className="mt-5 flex justify-end gap-2">
            <Button onClick={close}>Cancel</Button>
            <Button type="submit" kind="primary">
              {yes}
            </Button>
          </div>
        </form>
      </Dialog>
    );
  };
}

/** A question before something that can't be undone; `option` is a checkbox that adds to the body. */
export function confirming({
  title,
  text,
  yes,
  body,
  option,
  isDangerous = true,
}: {
  title: (count: string) => string;
  text: string;
  yes: string;
  body: object;
  isDangerous?: boolean;
  option?: { label: string; body: object };
}): BulkForm {
  return function Confirming({ count, onGo, onClose }) {
    const [isChosen, setChosen] = useState(false);
    return (
      <Confirm
        title={title(count)}
        yes={yes}
        isDangerous={isDangerous}
        onClose={onClose}
        onYes={async () => onGo(isChosen ? { ...body, ...option?.body } : body)}
      >
        <p>{text}</p>
        {option && (
          <div className="mt-3 text-ink">
            <Checkbox label={option.label} checked={isChosen} onChange={(event) => setChosen(event.target.checked)} />
          </div>
        )}
      </Confirm>
    );
  };
}

const tagging = (action: "tag" | "untag", verb: string) =>
  asking({
    title: (count) => `${verb}: ${count}`,
    label: "Tags",
    hint: TAGS_HINT,
    yes: verb,
    bodyOf: (text) => {
      const tags = tagsIn(text);
      if (tags.length === 0) throw new Error("Enter at least one tag.");
      return { action, tags };
    },
  });

/** `bodyOf` makes the body of the interval in minutes. */
export const settingInterval = (bodyOf: (minutes: number) => object) =>
  asking({
    title: (count) => `Set the interval: ${count}`,
    label: "Minutes",
    hint: MINUTES_HINT,
    yes: "Set interval",
    bodyOf: (text) => bodyOf(minutesIn(text)),
  });

export const AddTags = tagging("tag", "Add tags");
export const RemoveTags = tagging("untag", "Remove tags");
