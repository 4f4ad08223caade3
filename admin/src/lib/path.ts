// Addresses as text; the hooks that read and change the one of the page are in address.ts.

export type Given = Record<string, string | number | string[] | undefined | null>;

/** The address with parts of its query changed; what is empty is left out. A list has one part for each of its items. */
export function changed(path: string, search: string, given: Given): string {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(given)) {
    next.delete(name);
    for (const each of Array.isArray(value) ? value : [value ?? ""]) if (each !== "") next.append(name, String(each));
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
