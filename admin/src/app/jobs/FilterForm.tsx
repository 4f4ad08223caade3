"use client";

import { Button } from "@/components/Button";
import { FilterInput } from "@/components/FilterInput";
import { Field, Input, Select } from "@/components/Form";
import type { Schema } from "@/lib/api";
import type { Filters } from "./filters";

type Props = {
  filters: Filters;
  feeds: Schema<"FeedResponse">[];
  onFilters: (change: Partial<Filters>, how?: "push" | "replace") => void;
  onClear: (() => void) | null; // null: there is nothing to clear
};

export function FilterForm({ filters, feeds, onFilters, onClear }: Props) {
  const isListed = feeds.some(({ sourceUrl }) => sourceUrl === filters.source);
  const text = (name: "q" | "company" | "location", placeholder?: string) => (
    <FilterInput
      maxLength={200}
      placeholder={placeholder}
      value={filters[name]}
      onFilter={(value) => onFilters({ [name]: value }, "replace")}
    />
  );
  return (
    <form
      role="search"
      aria-label="Postings"
      className="grid grid-cols-1 gap-3 sm:grid-cols-2 lg:grid-cols-4"
      onSubmit={(event) => event.preventDefault()}
    >
      <Field
        label="Search"
        className="sm:col-span-2"
        hint="Searches title, company and location. End with * to match any ending."
      >
        {text("q", "weav*")}
      </Field>
      <Field label="Company">{text("company")}</Field>
      <Field label="Location">{text("location")}</Field>
      <Field label="Source" className="sm:col-span-2 lg:col-span-1">
        <Select value={filters.source} onChange={(event) => onFilters({ source: event.target.value })}>
          <option value="">all feeds</option>
          {filters.source && !isListed && <option value={filters.source}>{filters.source}</option>}
          {feeds.map(({ sourceUrl, name }) => (
            <option key={sourceUrl} value={sourceUrl}>
              {name}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="State">
        <Select value={filters.open} onChange={(event) => onFilters({ open: event.target.value })}>
          <option value="">all</option>
          <option value="true">open</option>
          <option value="false">closed</option>
        </Select>
      </Field>
      <Field label="Published from">
        <Input
          type="date"
          max={filters.to || undefined}
          value={filters.from}
          onChange={(event) => onFilters({ from: event.target.value })}
        />
      </Field>
      <Field label="Published until">
        <Input
          type="date"
          min={filters.from || undefined}
          value={filters.to}
          onChange={(event) => onFilters({ to: event.target.value })}
        />
      </Field>
      <div className="sm:col-span-2 lg:col-span-4">
        <Button disabled={onClear === null} onClick={() => onClear?.()}>
          Clear the filters
        </Button>
      </div>
    </form>
  );
}
