"use client";

import { useRef } from "react";
import { Button } from "@/components/Button";
import { Field, Input } from "@/components/Form";
import { isWebUrl } from "@/lib/format";
import type { TypedTarget } from "./formState";

/** The targets of notifications. */
export function Targets({
  targets,
  error,
  onChange,
}: {
  targets: TypedTarget[];
  error: string | null;
  onChange: (targets: TypedTarget[]) => void;
}) {
  const next = useRef(1000); // beyond the keys of those that were there
  const change = (key: number, part: Partial<TypedTarget>) =>
    onChange(targets.map((target) => (target.key === key ? { ...target, ...part } : target)));
  return (
    <div className="flex flex-col gap-4">
      {targets.length === 0 && (
        <p className="text-soft">No notifications. Changes are stored and shown here and in the Atom feed.</p>
      )}
      {targets.map((target, index) => (
        <fieldset key={target.key} className="min-w-0 rounded-lg border border-line p-3">
          <legend className="px-1 text-sm font-medium">Target {index + 1}</legend>
          <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
            <Field
              className="sm:col-span-2"
              label="URL"
              hint={
                target.shown !== null && target.url === target.shown
                  ? "Secrets are hidden. Leave the field unchanged to keep them."
                  : "http(s): a webhook. Otherwise a URL of Apprise: mailto://…, tgram://…, slack://…"
              }
            >
              <Input
                value={target.url}
                spellCheck={false}
                onChange={(event) => change(target.key, { url: event.target.value })}
              />
            </Field>
            {isWebUrl(target.url.trim()) && (
              <Field
                label="Secret"
                hint={target.isSigned ? "Already set. Leave empty to keep it." : "Used to sign webhook requests"}
              >
                <Input
                  type="password"
                  autoComplete="new-password"
                  value={target.secret}
                  onChange={(event) => change(target.key, { secret: event.target.value })}
                />
              </Field>
            )}
            <Field label="Digest, minutes" hint="Leave empty for a message after each run">
              <Input
                inputMode="decimal"
                value={target.digest}
                onChange={(event) => change(target.key, { digest: event.target.value })}
              />
            </Field>
          </div>
          <div className="mt-3">
            <Button
              onClick={() => onChange(targets.filter((each) => each.key !== target.key))}
              aria-label={`Remove target ${index + 1}`}
            >
              Remove
            </Button>
          </div>
        </fieldset>
      ))}
      {error && (
        <p role="alert" className="text-sm text-bad wrap-anywhere">
          {error}
        </p>
      )}
      <div>
        <Button
          disabled={targets.length >= 20}
          onClick={() =>
            onChange([
              ...targets,
              { key: next.current++, url: "", secret: "", digest: "", shown: null, isSigned: false },
            ])
          }
        >
          Add a target
        </Button>
      </div>
    </div>
  );
}
