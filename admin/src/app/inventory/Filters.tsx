"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Field, Input, Select } from "@/components/Form";
import { useAddress } from "@/lib/address";
import { STATES } from "./details";

const NAMES = ["q", "host", "status", "from", "to"] as const;
type Given = Record<(typeof NAMES)[number], string>;
const NONE: Given = { q: "", host: "", status: "", from: "", to: "" };

/** What of the records is shown; kept in the address. */
export function Filters() {
  const [address, change] = useAddress();
  const given = { ...NONE };
  for (const name of NAMES) given[name] = address.get(name) ?? "";
  return <Fields given={given} onApply={(fields) => change({ ...fields, cursor: null })} />;
}

function Fields({ given, onApply }: { given: Given; onApply: (given: Given) => void }) {
  const [fields, setFields] = useState(given);
  const [followed, setFollowed] = useState(given);
  // After a link or the way back the fields show what is in force; the others keep what is being typed.
  const moved = NAMES.filter((name) => given[name] !== followed[name]);
  if (moved.length > 0) {
    setFollowed(given);
    setFields({ ...fields, ...Object.fromEntries(moved.map((name) => [name, given[name]])) });
  }
  const apply = (next: Given) => {
    setFields(next);
    onApply(next);
  };
  const isAny = NAMES.some((name) => given[name] !== "");
  const bind = (name: (typeof NAMES)[number]) => ({
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value }),
  });
  return (
    <form
      role="search"
      aria-label="Records"
      className="mb-4 flex flex-wrap items-end gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        apply({ ...fields, q: fields.q.trim(), host: fields.host.trim() });
      }}
    >
      <Field label="Words in the URL" className="w-full sm:w-56">
        <Input
          type="search"
          maxLength={200}
          placeholder="shop lamp*"
          title="Consecutive words; end with * to match any ending"
          {...bind("q")}
        />
      </Field>
      <Field label="Host" className="w-full sm:w-44">
        <Input type="search" placeholder="example.org" {...bind("host")} />
      </Field>
      <Field label="State" className="w-full sm:w-44">
        <Select
          value={fields.status}
          onChange={(event) => apply({ ...fields, status: event.target.value })}
        >
          <option value="">any</option>
          {STATES.map((state) => (
            <option key={state} value={state}>
              {state.replaceAll("_", " ").toLowerCase()}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="Created from">
        <Input type="date" {...bind("from")} />
      </Field>
      <Field label="Created to">
        <Input type="date" {...bind("to")} />
      </Field>
      <Button type="submit" kind="primary">
        Search
      </Button>
      <Button disabled={!isAny} onClick={() => apply(NONE)}>
        Clear
      </Button>
    </form>
  );
}
