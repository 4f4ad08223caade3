"use client";

import { Button } from "@/components/Button";
import { Field, Input, Select } from "@/components/Form";
import { LONGEST_SEARCH, NO_FILTERS, STATUSES, type Filters } from "@/lib/importLogs";
import { useTyped } from "@/lib/typed";

type Change = (change: Partial<Filters>, how: "push" | "replace") => void;

export function FilterBar({ filters, onChange }: { filters: Filters; onChange: Change }) {
  const [q, typeQ] = useTyped(filters.q, (text) => onChange({ q: text }, "replace"));
  const [from, typeFrom] = useTyped(filters.from, (day) => onChange({ from: day }, "replace"));
  const [to, typeTo] = useTyped(filters.to, (day) => onChange({ to: day }, "replace"));
  const isFiltered = Object.values(filters).some(Boolean);
  const isNever = filters.from !== "" && filters.to !== "" && filters.from > filters.to;
  return (
    <form role="search" aria-label="Filter the runs" className="mb-4" onSubmit={(event) => event.preventDefault()}>
      <div className="grid grid-cols-2 items-start gap-3 lg:grid-cols-[10rem_minmax(10rem,1fr)_10rem_10rem_auto]">
        <Field label="Status" className="max-lg:col-span-2">
          <Select
            value={filters.status}
            onChange={(event) => onChange({ status: event.target.value as Filters["status"] }, "push")}
          >
            <option value="">Any</option>
            {STATUSES.map((status) => (
              <option key={status} value={status}>
                {status}
              </option>
            ))}
          </Select>
        </Field>
        <Field label="Search" className="max-lg:col-span-2">
          <Input
            type="search"
            placeholder="Part of the feed's name or URL"
            maxLength={LONGEST_SEARCH}
            value={q}
            onChange={(event) => typeQ(event.target.value)}
          />
        </Field>
        <Field label="From" error={isNever ? "This is after the last day, so nothing matches." : null}>
          <Input type="date" value={from} onChange={(event) => typeFrom(event.target.value)} />
        </Field>
        <Field label="To">
          <Input type="date" value={to} onChange={(event) => typeTo(event.target.value)} />
        </Field>
        <div className="flex flex-col gap-1 max-lg:col-span-2">
          <span aria-hidden="true" className="text-sm max-lg:hidden">
            &nbsp;
          </span>
          <Button disabled={!isFiltered} onClick={() => onChange(NO_FILTERS, "push")}>
            Clear
          </Button>
        </div>
      </div>
      {filters.sourceUrl && (
        <p className="mt-3 flex flex-wrap items-center gap-2">
          <span className="wrap-anywhere">
            Only the runs of <span className="font-medium">{filters.sourceUrl}</span>
          </span>
          <Button onClick={() => onChange({ sourceUrl: "" }, "push")}>Show all feeds</Button>
        </p>
      )}
    </form>
  );
}
