// What a page shows is in its address, so that a link or a reload shows the same.

import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { useCallback } from "react";

type Given = Record<string, string | number | undefined | null>;

/** The query of the address, and a way to change parts of it; what is empty is left out. */
export function useAddress(): [URLSearchParams, (change: Given, how?: "push" | "replace") => void] {
  const params = useSearchParams();
  const path = usePathname();
  const router = useRouter();
  const change = useCallback(
    (given: Given, how: "push" | "replace" = "push") => {
      const next = new URLSearchParams(window.location.search);
      for (const [name, value] of Object.entries(given)) {
        if (value === undefined || value === null || value === "") next.delete(name);
        else next.set(name, String(value));
      }
      const text = next.toString();
      router[how](text ? `${path}?${text}` : path, { scroll: false });
    },
    [path, router],
  );
  return [new URLSearchParams(params.toString()), change];
}

/** A part of the path, decoded: 1 is what stands for [runId] in /import-history/[runId]. */
export function usePathPart(index: number): string {
  const part = usePathname().split("/")[index + 1] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
