"use client";

import { Button } from "@/components/Button";
import { Field, Input, Select } from "@/components/Form";
import { FIELDS } from "./formats";
import type { MappingRow } from "./settings";

/** Where fields of a posting come from, for feeds with names of their own. */
export function MappingRows({ rows, onRows }: { rows: MappingRow[]; onRows: (rows: MappingRow[]) => void }) {
  const free = FIELDS.filter((field) => rows.every((row) => row.field !== field));
  const add = (field: string) =>
    onRows([...rows, { id: Math.max(-1, ...rows.map(({ id }) => id)) + 1, field, path: "" }]);
  const change = (id: number, part: Partial<MappingRow>) =>
    onRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-1 text-sm font-medium">Field mapping</legend>
      <p className="text-sm text-soft">
        Only for feeds with unusual element names. Say which element a field comes from; where it is missing, the usual
        names are tried. A path is element names separated by slashes, with at most one
        @attribute at the end:{" "}
        <code>job_listing:company</code>, <code>office/name</code>, <code>@id</code>.
      </p>
      {rows.map((row, index) => (
        <div key={row.id} className="flex flex-wrap items-end gap-2">
          <Field label={<>Field<span className="sr-only"> {index + 1}</span></>} className="w-44">
            <Select value={row.field} onChange={(event) => change(row.id, { field: event.target.value })}>
              {[...new Set([row.field, ...FIELDS])]
                .filter((field) => field === row.field || free.includes(field))
                .map((field) => (
                  <option key={field}>{field}</option>
                ))}
            </Select>
          </Field>
          <Field label={<>Path<span className="sr-only"> of {row.field}</span></>} className="min-w-40 flex-1">
            <Input
              className="font-mono"
              spellCheck={false}
              autoCapitalize="none"
              maxLength={200}
              value={row.path}
              onChange={(event) => change(row.id, { path: event.target.value })}
            />
          </Field>
          <Button onClick={() => onRows(rows.filter(({ id }) => id !== row.id))}>
            Remove<span className="sr-only"> the path of {row.field}</span>
          </Button>
        </div>
      ))}
      {free[0] && (
        <div>
          <Button onClick={() => add(free[0] ?? "")}>Add a path</Button>
        </div>
      )}
    </fieldset>
  );
}
