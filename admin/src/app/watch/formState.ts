// The values of a watch's form, and the request bodies made of them.

import type { Schema } from "@/lib/api";
import { messageOf } from "@/lib/api";
import { isWebUrl } from "@/lib/format";
import { minutesIn, minutesText } from "@/lib/minutes";
import { tagsIn } from "@/lib/tags";
import type { Watch } from "@/lib/watch";

export type Typed = {
  urls: string; // here and below, where there may be several: one a line
  name: string;
  tags: string; // with commas between them
  timing: "usual" | "every" | "cron";
  every: string;
  cron: string;
  timeZone: string;
  keep: string;
  drop: string;
  ignoreText: string;
  ignorePattern: string;
  sortLines: boolean;
  uniqueLines: boolean;
  textContains: string;
  priceBelow: string;
  priceChangePercent: string;
  targets: TypedTarget[];
  acceptsEvents: boolean;
};

export type TypedTarget = {
  key: number;
  url: string;
  secret: string;
  digest: string;
  shown: string | null; // as the API answered it, without what is secret; null: it is new
  isSigned: boolean;
};

/** Where an error is shown. */
export type Place = keyof Typed | "form";

export function emptyForm(url = ""): Typed {
  return {
    urls: url,
    name: "",
    tags: "",
    timing: "usual",
    every: "60",
    cron: "0 9 * * mon-fri",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
    keep: "",
    drop: "",
    ignoreText: "",
    ignorePattern: "",
    sortLines: false,
    uniqueLines: false,
    textContains: "",
    priceBelow: "",
    priceChangePercent: "",
    targets: [],
    acceptsEvents: false,
  };
}

export function formOf(watch: Watch): Typed {
  const { schedule, selection, thresholds } = watch;
  const usual = emptyForm();
  return {
    urls: watch.urls.join("\n"),
    name: watch.name,
    tags: watch.tags.join(", "),
    timing: schedule.cron ? "cron" : "every",
    every: schedule.everyMinutes ? minutesText(schedule.everyMinutes) : usual.every,
    cron: schedule.cron ?? usual.cron,
    timeZone: schedule.cron ? (schedule.timeZone ?? "UTC") : usual.timeZone,
    keep: (selection.keep ?? []).join("\n"),
    drop: (selection.drop ?? []).join("\n"),
    ignoreText: (selection.ignoreText ?? []).join("\n"),
    ignorePattern: (selection.ignorePattern ?? []).join("\n"),
    sortLines: selection.sortLines ?? false,
    uniqueLines: selection.uniqueLines ?? false,
    textContains: (thresholds.textContains ?? []).join("\n"),
    priceBelow: String(thresholds.priceBelow ?? ""),
    priceChangePercent: String(thresholds.priceChangePercent ?? ""),
    targets: watch.targets.map((target, key) => ({
      key,
      url: target.url,
      secret: "",
      digest: target.digestMinutes === null ? "" : minutesText(target.digestMinutes),
      shown: target.url,
      isSigned: target.signed,
    })),
    acceptsEvents: watch.acceptsEvents,
  };
}

export function linesOf(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "");
}

function trimmed(text: string): string[] {
  return linesOf(text).map((line) => line.trim());
}

export function urlsOf(form: Typed): string[] {
  return trimmed(form.urls);
}

export function selectionOf(form: Typed): Schema<"SelectionBody"> {
  return {
    keep: trimmed(form.keep),
    drop: trimmed(form.drop),
    ignoreText: trimmed(form.ignoreText),
    ignorePattern: linesOf(form.ignorePattern), // a blank at its end may be meant
    sortLines: form.sortLines,
    uniqueLines: form.uniqueLines,
  };
}

/** A place of the form has a value that can't be sent. */
export class Unfit extends Error {
  readonly place: Place;

  constructor(place: Place, message: string) {
    super(message);
    this.place = place;
  }
}

export function bodyOf(form: Typed): Schema<"AddWatchBody"> {
  const urls = urlsOf(form);
  if (urls.length === 0) throw new Unfit("urls", "Enter at least one URL.");
  return {
    urls,
    url: null,
    name: form.name.trim() || null,
    tags: tagsIn(form.tags),
    schedule: scheduleOf(form),
    enabled: true,
    selection: selectionOf(form),
    thresholds: {
      textContains: trimmed(form.textContains),
      priceBelow: decimal("priceBelow", form.priceBelow),
      priceChangePercent: decimal("priceChangePercent", form.priceChangePercent),
    },
    targets: form.targets.map((target) => ({
      url: target.url.trim(),
      secret: (isWebUrl(target.url.trim()) && target.secret) || null,
      digestMinutes: target.digest.trim() === "" ? null : minutes("targets", target.digest),
    })),
    acceptsEvents: form.acceptsEvents,
  };
}

function scheduleOf(form: Typed): Schema<"ScheduleBody"> | null {
  if (form.timing === "usual") return null;
  if (form.timing === "cron") {
    return { everyMinutes: null, cron: form.cron.trim(), timeZone: form.timeZone.trim() || "UTC" };
  }
  return { everyMinutes: minutes("every", form.every), cron: null, timeZone: "UTC" };
}

const THOUSANDS = /^[+-]?[1-9]\d{0,2},\d{3}$/; // or a decimal comma: it can be either

function minutes(place: Place, text: string): number {
  try {
    return minutesIn(text);
  } catch (error) {
    throw new Unfit(place, messageOf(error));
  }
}

function amount(place: Place, text: string): number {
  if (THOUSANDS.test(text.trim())) {
    throw new Unfit(place, `Write "${text.trim()}" without the comma, or with a decimal point.`);
  }
  const value = Number(text.trim().replace(",", "."));
  if (text.trim() === "" || !Number.isFinite(value)) throw new Unfit(place, `"${text}" is not a number.`);
  return value;
}

/** As text, so that it keeps its digits. */
function decimal<Type>(place: Place, text: string): Type | null {
  if (text.trim() === "") return null;
  amount(place, text);
  return text.trim().replace(",", ".") as Type;
}

/** Only the fields that differ from those saved last: what someone else changed meanwhile stays. */
export function editsOf(form: Typed, before: Typed): Schema<"EditWatchBody"> {
  const now = bodyOf(form);
  const was = bodyOf(before);
  const { name, schedule } = now;
  const edits: Schema<"EditWatchBody"> = {};
  const differs = (field: keyof typeof now) => JSON.stringify(now[field]) !== JSON.stringify(was[field]);
  if (differs("urls")) edits.urls = now.urls;
  if (differs("name")) edits.name = name ?? "";
  if (differs("tags")) edits.tags = now.tags;
  if (differs("schedule") && schedule) edits.schedule = schedule;
  if (differs("selection")) edits.selection = now.selection;
  if (differs("thresholds")) edits.thresholds = now.thresholds;
  if (differs("targets")) edits.targets = now.targets;
  if (differs("acceptsEvents")) edits.acceptsEvents = now.acceptsEvents;
  return edits;
}

const PLACES: [string, Place][] = [
  ["urls:", "urls"],
  ["name:", "name"],
  ["tags:", "tags"],
  ["selection.keep:", "keep"],
  ["selection.drop:", "drop"],
  ["selection.ignoreText:", "ignoreText"],
  ["selection.ignorePattern:", "ignorePattern"],
  ["thresholds.textContains:", "textContains"],
  ["thresholds.priceBelow:", "priceBelow"],
  ["thresholds.priceChangePercent:", "priceChangePercent"],
  ["targets:", "targets"],
];

/** The names of the places, for errors that are not shown beside them. */
export const LABELS: Partial<Record<Place, string>> = {
  urls: "URLs",
  name: "Name",
  tags: "Tags",
  every: "Minutes",
  cron: "Cron line",
  timeZone: "Time zone",
  keep: "Keep only",
  drop: "Leave out",
  ignoreText: "Ignore lines with",
  ignorePattern: "Ignore lines like",
  textContains: "New text contains",
  priceBelow: "Price below",
  priceChangePercent: "Price moves by, percent",
  targets: "Notifications",
};

/** Which field the API's message is about. It names the field, except in a preview whose selectors don't fit the page. */
export function placeOf(message: string, form: Typed): Place {
  for (const [start, place] of PLACES) if (message.startsWith(start)) return place;
  if (message.startsWith("schedule:"))
    return form.timing === "cron" ? (/zone/i.test(message) ? "timeZone" : "cron") : "every";
  if (/selector|XPath/.test(message))
    return (["keep", "drop"] as const).find((field) => linesOf(form[field]).length > 0) ?? "form";
  return "form";
}
