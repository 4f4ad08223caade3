"use client";

import { Button } from "@/components/Button";
import { FilterInput } from "@/components/FilterInput";
import { Checkbox, Input, Select } from "@/components/Form";
import { ApiLink } from "@/components/ApiLink";
import { Menu, MENU_ITEM } from "@/components/Menu";
import { addressOf } from "@/lib/api";
import { number } from "@/lib/format";
import type { Given } from "@/lib/path";
import { useTyped } from "@/lib/typed";
import { cleared, isFiltered, type ListQuery } from "./listQuery";
import { chosenOf, toggledColumns } from "./columns";
import { Tags, type Tag } from "./Tags";
import type { Column, Filter } from "./types";
import { Views } from "./Views";

export type Change = (given: Given, how?: "push" | "replace") => void;

export type ToolbarProps<T> = {
  name: string;
  prefix?: string;
  columns: Column<T>[];
  asked: ListQuery;
  change: Change;
  search?: string; // what is searched: "Name, URL or tag"
  filters?: Filter[];
  tags?: Tag[];
  exports?: { path: string; file: string; query: object }; // the API's route, and what it is asked for
};

/** Chooses what of a list is shown, and in which order. */
export function Toolbar<T>({
  name,
  prefix = "",
  columns,
  asked,
  change,
  search,
  filters = [],
  tags = [],
  exports,
  sort,
  isCards,
  isTight,
}: ToolbarProps<T> & { sort: string; isCards: boolean; isTight: boolean }) {
  const isAsked = search !== undefined || filters.length > 0; // there is something to keep as a view
  const isAny = isFiltered(asked);
  const count = Object.values(asked.filters).filter(Boolean).length;
  const fieldOf = (filter: Filter) => (
    <FilterField
      key={filter.name}
      filter={filter}
      value={asked.filters[filter.name] ?? ""}
      onChange={(value, how) => change({ [filter.name]: value }, how)}
    />
  );
  const days = filters.filter(({ kind }) => kind === "day");
  const fields = filters.filter((filter) => !days.includes(filter)).map(fieldOf);
  if (days.length > 0) {
    fields.push(
      <span key="days" className="flex flex-wrap gap-2">
        {days.map(fieldOf)}
      </span>,
    );
  }
  const sorts = columns.filter((column) => column.sort !== undefined);
  const isSeen = chosenOf(columns, asked.columns).some((column) => column.sort === sort.replace(/^-/, ""));
  if (sorts.length > 0 && (isCards || !isSeen)) {
    fields.push(<SortField key="sort" columns={sorts} sort={sort} onSort={(by) => change({ sort: by })} />);
  }
  return (
    <form
      role="search"
      aria-label={name}
      className="flex flex-col gap-2 px-3 pt-3 pb-1"
      onSubmit={(event) => event.preventDefault()}
    >
      <div className="flex flex-wrap items-center gap-2">
        {search && (
          <FilterInput
            aria-label="Search"
            className="!w-auto min-w-40 flex-1"
            style={{ flexBasis: `${Math.max(14, search.length / 1.9 + 2)}rem` }} // room for all of the placeholder
            maxLength={200}
            placeholder={search}
            value={asked.q}
            onFilter={(q) => change({ q }, "replace")}
          />
        )}
        {isTight && fields.length > 0 ? (
          <Menu button={`Filters${count > 0 ? ` (${number(count)})` : ""}`}>
            <div className="grid gap-2 p-1">{fields}</div>
          </Menu>
        ) : (
          fields
        )}
        {isAny && <Button onClick={() => change(cleared(asked))}>Clear</Button>}
        <span className="ml-auto flex flex-wrap gap-2">
          <Menu button="Columns">
            {columns.slice(1).map((column) => (
              <div key={column.id} className="px-2 py-0.5">
                <Checkbox
                  label={column.name}
                  checked={chosenOf(columns, asked.columns).includes(column)}
                  onChange={() => change({ columns: toggledColumns(columns, asked.columns, column.id) }, "replace")}
                />
              </div>
            ))}
          </Menu>
          {isAsked && <Views prefix={prefix} />}
          {exports && (
            <Menu button="Export">
              {(["csv", "ndjson"] as const).map((format) => (
                <ApiLink
                  key={format}
                  className={MENU_ITEM}
                  file={`${exports.file}.${format}`}
                  isDownload
                  href={addressOf(exports.path, {}, {
                    format,
                    columns: chosenOf(columns, asked.columns).flatMap(({ id, exported }) => exported ?? [id]).join(),
                    ...exports.query,
                  })}
                >
                  {format.toUpperCase()} of all that match
                </ApiLink>
              ))}
            </Menu>
          )}
        </span>
      </div>
      {tags.length > 0 && <Tags tags={tags} chosen={asked.tag} onChoose={(tag) => change({ tag })} />}
    </form>
  );
}

function FilterField({
  filter,
  value,
  onChange,
}: {
  filter: Filter;
  value: string;
  onChange: (value: string, how?: "replace") => void;
}) {
  if (filter.kind === "choice") {
    const isKnown = value === "" || filter.options.some(([each]) => each === value);
    return (
      <Select
        aria-label={filter.label}
        className="!w-40 max-w-full text-sm text-ellipsis" // whatever its options are: they may come later
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        <option value="">{filter.any}</option>
        {!isKnown && <option value={value}>{value}</option>}
        {filter.options.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </Select>
    );
  }
  if (filter.kind === "day") return <DayField label={filter.label} value={value} onChange={onChange} />;
  return (
    <FilterInput
      aria-label={filter.label}
      className="!w-auto min-w-28 flex-1 basis-32"
      maxLength={200}
      placeholder={filter.label}
      value={value}
      onFilter={(text) => onChange(text, "replace")}
    />
  );
}

/** While a date is typed the field passes through other dates: the value counts once typing pauses. */
function DayField({ label, value, onChange }: { label: string; value: string; onChange: (value: string, how: "replace") => void }) {
  const [day, type] = useTyped(value, (next) => onChange(next, "replace"));
  return (
    <label className="inline-flex items-center gap-2 text-sm">
      {label}
      <Input type="date" className="!w-auto" value={day} onChange={(event) => type(event.target.value)} />
    </label>
  );
}

/** For cards, which have no column heads to click on, and for an order whose column is not shown. */
function SortField<T>({ columns, sort, onSort }: { columns: Column<T>[]; sort: string; onSort: (sort: string) => void }) {
  return (
    <Select aria-label="Sort" className="!w-auto max-w-full text-sm" value={sort} onChange={(event) => onSort(event.target.value)}>
      {sort === "" && <option value="">Usual order</option>}
      {columns.flatMap(({ sort: by, name }) => [
        <option key={by} value={by}>
          {name} ↑
        </option>,
        <option key={`-${by}`} value={`-${by}`}>
          {name} ↓
        </option>,
      ])}
    </Select>
  );
}
