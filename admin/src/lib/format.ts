// Numbers and times as people read them, in their own language and zone.

const whole = new Intl.NumberFormat();
const shortTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const exactTime = new Intl.DateTimeFormat(undefined, {
  dateStyle: "full",
  timeStyle: "long",
});

export function number(value: number): string {
  return whole.format(value);
}

const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

/** A number in few characters: 10,325 is 10.3K. */
export function short(value: number): string {
  return value < 10_000 ? number(value) : compact.format(value);
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** "12", or "10,000+" where only so many were counted. */
export function waitingWords(count: number, isExact: boolean): string {
  return isExact ? number(count) : `${number(count)}+`;
}

export function bytes(count: number): string {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${Math.round(count * 10) / 10} ${units[unit]}`;
}

export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** The first moment of a day (2026-11-02) in the reader's zone, `later` days on; NaN for an invalid day. */
export function startOfDay(day: string, later: number): number {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? [];
  if (year === undefined) return NaN;
  const start = new Date(2000, 0); // the constructor reads the years 0 to 99 as 1900 to 1999
  start.setFullYear(Number(year), Number(month) - 1, Number(date));
  if (start.getMonth() !== Number(month) - 1) return NaN; // 31 April, or a month 13
  start.setDate(start.getDate() + later);
  return start.setHours(0, 0, 0, 0); // last: on a day when clocks skip midnight this is its first hour
}

export function timeOf(moment: string | number): string {
  return shortTime.format(new Date(moment));
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const withoutYear = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit",
  second: "2-digit",
});

export function clockOf(moment: string | number): string {
  return clock.format(new Date(moment));
}

/** Where a phone has no room for the year. */
export function shortTimeOf(moment: string | number): string {
  return withoutYear.format(new Date(moment));
}

export function exactTimeOf(moment: string | number): string {
  const date = new Date(moment);
  return `${exactTime.format(date)} (${date.toISOString()})`;
}

/** "3 minutes ago", "in 2 hours". */
export function relative(moment: string | number, now: number): string {
  const seconds = (new Date(moment).getTime() - now) / 1000;
  const steps: [number, Intl.RelativeTimeFormatUnit][] = [
    [60, "second"],
    [60, "minute"],
    [24, "hour"],
    [30, "day"],
    [12, "month"],
  ];
  let value = seconds;
  for (const [size, unit] of steps) {
    if (Math.abs(Math.round(value)) < size) return distance(Math.round(value), unit);
    value /= size;
  }
  return distance(Math.round(value), "year");
}

/** "now", but not "yesterday": 30 hours ago may be the day before that. */
function distance(value: number, unit: Intl.RelativeTimeFormatUnit): string {
  return new Intl.RelativeTimeFormat(undefined, { numeric: value === 0 ? "auto" : "always" }).format(value, unit);
}

const DIGITS = { maximumFractionDigits: 6 };

/** An amount with its currency, with as many decimals as that one has, or more if it came with more. */
export function money(amount: number | null | undefined, currency: string | null | undefined): string {
  if (amount === null || amount === undefined) return "–";
  try {
    if (currency) return new Intl.NumberFormat(undefined, { style: "currency", currency, ...DIGITS }).format(amount);
  } catch {
    // not a currency that the browser knows
  }
  const minimumFractionDigits = Number.isInteger(amount) ? 0 : 2;
  return [new Intl.NumberFormat(undefined, { ...DIGITS, minimumFractionDigits }).format(amount), currency]
    .filter(Boolean)
    .join(" ");
}

/** A URL without https://, www. and a last slash, for narrow columns. */
export function shortUrl(url: string): string {
  return url.replace(/^https?:\/\/(www\.)?/, "").replace(/\/$/, "");
}

/** Only these are made into links: a javascript: URL stays text. */
export function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

/** The beginning of a text, without half a character at its end. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, isHalf(text, length) ? length - 1 : length);
}

/** Whether a character of two code units would be split at that place. */
export function isHalf(text: string, place: number): boolean {
  const unit = text.charCodeAt(place - 1);
  return unit >= 0xd800 && unit < 0xdc00;
}
