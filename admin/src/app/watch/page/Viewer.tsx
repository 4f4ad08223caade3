"use client";

import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { DIFF } from "@/components/Changes";
import type { Form } from "@/components/Diff";
import { Select } from "@/components/Form";
import type { Schema } from "@/lib/api";
import { shortTimeOf } from "@/lib/format";
import { comparisonOf, neighbours, optionsOf, type Choice } from "./choice";
import { Difference } from "./Difference";
import { Reading } from "./Reading";

export type Shown = Form | "read";

const FORMS: [Shown, string][] = [
  ["inline", "Inline"],
  ["side", "Side by side"],
  ["read", "Read"],
];

/** The diff of two versions or the text of one, with all that chooses them above it. */
export function Viewer({
  jobId,
  url,
  versions,
  choice,
  chosen,
  form,
  onChoose,
}: {
  jobId: string;
  url: string;
  versions: Schema<"VersionResponse">[];
  choice: Choice; // that is shown
  chosen: Choice; // that will be shown
  form: Form;
  onChoose: (change: Partial<Choice>, form?: Form) => void;
}) {
  const { from, to, read } = choice;
  const now: Shown = chosen.read !== null ? "read" : form;
  const show = (next: Shown) =>
    next === "read"
      ? onChoose({ read: chosen.read ?? chosen.to })
      : onChoose(chosen.read === null ? {} : comparisonOf(versions, chosen), next);
  const { older, newer } = neighbours(versions, chosen);
  const step = (name: string, next: Partial<Choice> | null) => (
    <Button disabled={next === null} onClick={() => next && onChoose(next)}>
      {name}
    </Button>
  );
  return (
    <Card
      id={DIFF}
      title={<span aria-live="polite">{read !== null ? `Version ${read}` : `Version ${from} → ${to}`}</span>}
      actions={
        <span role="group" aria-label="View" className="flex flex-wrap gap-2">
          {FORMS.map(([each, name]) => (
            <Button
              key={each}
              aria-pressed={each === now}
              kind={each === now ? "primary" : "plain"}
              disabled={each !== "read" && chosen.from === null}
              onClick={() => show(each)}
            >
              {name}
            </Button>
          ))}
        </span>
      }
    >
      <div className="mb-4 flex flex-wrap items-center gap-2">
        {chosen.read !== null ? (
          <Versions label="Version" versions={versions} value={chosen.read} onChange={(each) => onChoose({ read: each })} />
        ) : (
          <>
            <Versions label="From" versions={versions} value={chosen.from} onChange={(each) => onChoose({ from: each })} />
            <Versions label="To" versions={versions} value={chosen.to} onChange={(each) => onChoose({ to: each })} />
          </>
        )}
        <span className="flex gap-2">
          {step("Older", older)}
          {step("Newer", newer)}
        </span>
      </div>
      {read !== null ? (
        <Reading jobId={jobId} url={url} version={read} />
      ) : (
        from !== null && to !== null && <Difference jobId={jobId} url={url} from={from} to={to} form={form} />
      )}
    </Card>
  );
}

function Versions({
  label,
  versions,
  value,
  onChange,
}: {
  label: string;
  versions: Schema<"VersionResponse">[];
  value: number | null;
  onChange: (version: number) => void;
}) {
  return (
    <label className="flex min-w-0 items-center gap-2 text-sm">
      {label}
      <Select
        className="max-w-full min-w-0 tabular-nums"
        value={value ?? ""}
        onChange={(event) => onChange(Number(event.target.value))}
      >
        {optionsOf(versions, value).map(({ version, createdAt }) => (
          <option key={version} value={version}>
            {createdAt === null ? version : `${version} · ${shortTimeOf(createdAt)}`}
          </option>
        ))}
      </Select>
    </label>
  );
}
