// The values of a feed's form, and the request body made of them.

import type { Schema } from "@/lib/api";
import { minutesIn, minutesText } from "@/lib/minutes";
import { tagsIn } from "@/lib/tags";

type Feed = Schema<"FeedResponse">;

export type MappingRow = { id: number; field: string; path: string };

export type Settings = {
  url: string;
  name: string;
  tags: string; // with commas between them
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
    tags: feed?.tags.join(", ") ?? "",
    format: feed?.format ?? "auto",
    minutes: feed?.intervalMinutes ? minutesText(feed.intervalMinutes) : "",
    enabled: feed?.enabled ?? true,
    closeMissing: feed?.closeMissing ?? false,
    mapping: Object.entries(feed?.mapping ?? {}).map(([field, path], id) => ({ id, field, path })),
  };
}

/** Rows without a path are left out. */
export function mappingOf(rows: MappingRow[]): Record<string, string> {
  return Object.fromEntries(rows.filter(({ path }) => path.trim()).map(({ field, path }) => [field, path.trim()]));
}

export function previewBodyOf({ url, format, mapping }: Settings): Schema<"FeedPreviewBody"> {
  return { url: url.trim(), format, mapping: mappingOf(mapping) };
}

/** Throws an error that says what is wrong. */
function minutesOf(text: string): number | null {
  return text.trim() ? minutesIn(text) : null;
}

export function newFeedOf(settings: Settings): Schema<"AddFeedBody"> {
  return {
    ...previewBodyOf(settings),
    name: settings.name.trim() || null,
    tags: tagsIn(settings.tags),
    intervalMinutes: minutesOf(settings.minutes),
    enabled: settings.enabled,
    closeMissing: settings.closeMissing,
  };
}

/** The fields that differ from those saved last. Pausing is not among them: it has a button of its own. */
export function changesOf(before: Settings, settings: Settings): Schema<"EditFeedBody"> {
  const old = new Map(Object.entries(editable(before)));
  return Object.fromEntries(
    Object.entries(editable(settings)).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(old.get(key))),
  );
}

function editable(settings: Settings) {
  const { url, name, tags, format, intervalMinutes, closeMissing, mapping } = newFeedOf(settings);
  return { url, name: name ?? "", tags, format, intervalMinutes, closeMissing, mapping };
}
