// What a page shows is in its address, so that a link or a reload shows the same.

import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { useCallback } from "react";
import { changed, partOf, type Given } from "./path";

/** `search` is what is changed: default, the address. */
export type ChangeAddress = (change: Given, how?: "push" | "replace", search?: string) => void;

/** The query of the address, and a way to change parts of it; what is empty is left out. */
export function useAddress(): [URLSearchParams, ChangeAddress] {
  const params = useSearchParams();
  const path = usePathname();
  const router = useRouter();
  const change = useCallback(
    (given: Given, how: "push" | "replace" = "push", search = window.location.search) => {
      router[how](changed(path, search, given), { scroll: false });
    },
    [path, router],
  );
  return [new URLSearchParams(params.toString()), change];
}

/** A part of the path, decoded: 1 is what stands for [runId] in /import-history/[runId]. */
export function usePathPart(index: number): string {
  return partOf(usePathname(), index);
}
