// Addresses as text; the hooks that read and change the one of the page are in address.ts.

export type Given = Record<string, string | number | undefined | null>;

/** The address with parts of its query changed; what is empty is left out. */
export function changed(path: string, search: string, given: Given): string {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === "") next.delete(name);
    else next.set(name, String(value));
  }
  const text = next.toString();
  return text ? `${path}?${text}` : path;
}

/** A part of the path, decoded: 1 is what stands for [runId] in /import-history/[runId]. */
export function partOf(path: string, index: number): string {
  const part = path.split("/")[index + 1] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
