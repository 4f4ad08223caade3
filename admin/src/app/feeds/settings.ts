// What the form of a feed holds, and what of it goes to the API.

import type { Schema } from "@/lib/api";

type Feed = Schema<"FeedResponse">;

export type MappingRow = { id: number; field: string; path: string };

export type Settings = {
  url: string;
  name: string;
  format: Feed["format"];
  minutes: string; // as typed; empty: the usual interval
  enabled: boolean;
  closeMissing: boolean;
  mapping: MappingRow[];
};

export function settingsOf(feed: Feed | null, url = ""): Settings {
  return {
    url: feed?.url ?? url,
    name: feed?.name ?? "",
    format: feed?.format ?? "auto",
    minutes: feed?.intervalMinutes?.toString() ?? "",
    enabled: feed?.enabled ?? true,
    closeMissing: feed?.closeMissing ?? false,
    mapping: Object.entries(feed?.mapping ?? {}).map(([field, path], id) => ({ id, field, path })),
  };
}

/** Rows without a path say nothing. */
export function mappingOf(rows: MappingRow[]): Record<string, string> {
  return Object.fromEntries(rows.filter(({ path }) => path.trim()).map(({ field, path }) => [field, path.trim()]));
}

export function previewBodyOf({ url, format, mapping }: Settings): Schema<"FeedPreviewBody"> {
  return { url: url.trim(), format, mapping: mappingOf(mapping) };
}

function minutesOf(text: string): number | null {
  return text.trim() ? Number(text) : null;
}

export function newFeedOf(settings: Settings): Schema<"AddFeedBody"> {
  return {
    ...previewBodyOf(settings),
    name: settings.name.trim() || null,
    intervalMinutes: minutesOf(settings.minutes),
    enabled: settings.enabled,
    closeMissing: settings.closeMissing,
  };
}

/** What differs from how the form began. Pausing is no part of it: there is a button for that. */
export function changesOf(before: Settings, settings: Settings): Schema<"EditFeedBody"> {
  const old = new Map(Object.entries(editable(before)));
  return Object.fromEntries(
    Object.entries(editable(settings)).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(old.get(key))),
  );
}

function editable(settings: Settings) {
  const { url, name, format, intervalMinutes, closeMissing, mapping } = newFeedOf(settings);
  return { url, name: name ?? "", format, intervalMinutes, closeMissing, mapping };
}
