"use client";

import { useId } from "react";
import { Field, Input, Select } from "@/components/Form";
import { MINUTES_HINT, minutesIn, wrongMinutes } from "@/lib/minutes";
import { scheduleWords } from "@/lib/watch";
import type { Place, Typed } from "./formState";

const ZONES = Intl.supportedValuesOf("timeZone");

export function ScheduleFields({
  form,
  isNew,
  set,
  errorAt,
}: {
  form: Typed;
  isNew: boolean;
  set: (part: Partial<Typed>) => void;
  errorAt: (place: Place) => string | null;
}) {
  const zones = useId();
  const words = scheduleWords({
    everyMinutes: wrongMinutes(form.every) ? 0 : minutesIn(form.every),
    cron: form.timing === "cron" ? form.cron : null,
    timeZone: form.timeZone || "UTC",
  });
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
      <Field label="Checked">
        <Select value={form.timing} onChange={(event) => set({ timing: event.target.value as Typed["timing"] })}>
          {isNew && <option value="usual">At the default interval</option>}
          <option value="every">Every N minutes</option>
          <option value="cron">By cron expression</option>
        </Select>
      </Field>
      {form.timing === "usual" && (
        <p className="self-end text-sm text-soft">One hour, unless the settings of this Webloom say otherwise.</p>
      )}
      {form.timing === "every" && (
        <Field label="Minutes" error={errorAt("every")} hint={wrongMinutes(form.every) ? MINUTES_HINT : words}>
          <Input inputMode="decimal" value={form.every} onChange={(event) => set({ every: event.target.value })} />
        </Field>
      )}
      {form.timing === "cron" && (
        <>
          <Field
            label="Cron line"
            error={errorAt("cron")}
            hint={words.startsWith("cron ") ? "minute, hour, day of month, month, day of week" : words}
          >
            <Input
              className="font-mono"
              spellCheck={false}
              value={form.cron}
              onChange={(event) => set({ cron: event.target.value })}
            />
          </Field>
          <Field label="Time zone" error={errorAt("timeZone")}>
            <Input
              list={zones}
              spellCheck={false}
              value={form.timeZone}
              onChange={(event) => set({ timeZone: event.target.value })}
            />
          </Field>
          <datalist id={zones}>
            {["UTC", ...ZONES.filter((zone) => zone !== "UTC")].map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      )}
    </div>
  );
}
