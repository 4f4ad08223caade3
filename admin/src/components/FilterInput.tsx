"use client";

import type { InputHTMLAttributes } from "react";
import { Input } from "@/components/Form";
import { useTyped } from "@/lib/typed";

type Props = Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "onChange"> & {
  value: string; // as the address has it
  onFilter: (value: string) => void;
};

/** A text to filter by, reported once typing pauses; it follows the address when that changes. */
export function FilterInput({ value, onFilter, ...rest }: Props) {
  const [text, type] = useTyped(value, onFilter);
  return (
    <Input type="search" autoComplete="off" value={text} onChange={(event) => type(event.target.value)} {...rest} />
  );
}
