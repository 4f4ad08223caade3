/** Round values from below the least to above the most. */
export function niceTicks(least: number, most: number): number[] {
  const span = most - least || Math.abs(most) * 0.2 || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? rough;
  const below = Math.floor((least - span * 0.05) / step);
  const start = least < 0 ? below : Math.max(below, 0); // prices are not negative
  const end = Math.ceil((most + span * 0.05) / step);
  return Array.from({ length: Math.max(end - start, 1) + 1 }, (_, index) =>
    Number(((start + index) * step).toPrecision(12)),
  );
}

export type TimeTick = { at: number; label: string };

const SECOND = 1000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MONTH = 30.4 * DAY;
const SHORT_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600].map((seconds) => seconds * SECOND);
const HOURS = [2, 3, 6, 12];
const DAYS = [1, 2, 4, 7, 14];
const MONTHS = [1, 2, 3, 6];
const YEARS = [1, 2, 5, 10, 20, 50, 100];

/** Round moments in the reader's zone, at most `most` of them and more than half as many where there are any. */
export function timeTicks(from: number, to: number, most: number): TimeTick[] {
  const start = new Date(from);
  const [year, month, day] = [start.getFullYear(), start.getMonth(), start.getDate()];
  const midnight = new Date(year, month, day).getTime();
  const fits = (step: number) => (to - from) / step < most;

  const short = SHORT_STEPS.find(fits);
  if (short !== undefined) {
    const passed = Math.floor((from - midnight) / short);
    return labelled(within(from, to, (index) => midnight + (passed + index) * short), short);
  }
  const hours = HOURS.find((each) => fits(each * HOUR));
  if (hours !== undefined) {
    return labelled(within(from, to, (index) => new Date(year, month, day, index * hours).getTime()), hours * HOUR);
  }
  const days = DAYS.find((each) => fits(each * DAY));
  if (days !== undefined) {
    return labelled(within(from, to, (index) => new Date(year, month, day + index * days).getTime()), days * DAY);
  }
  const months = MONTHS.find((each) => fits(each * MONTH));
  if (months !== undefined) {
    const first = month - (month % months);
    return labelled(within(from, to, (index) => new Date(year, first + index * months).getTime()), months * MONTH);
  }
  const years = YEARS.find((each) => fits(each * 12 * MONTH)) ?? 1000;
  const first = year - (year % years);
  return labelled(within(from, to, (index) => new Date(first + index * years, 0).getTime()), years * 12 * MONTH);
}

function within(from: number, to: number, tick: (index: number) => number): number[] {
  const found: number[] = [];
  for (let index = 0, at = tick(0); at <= to; index += 1, at = tick(index)) if (at >= from) found.push(at);
  return found;
}

/** Among hours, a midnight is labelled with its date. */
function labelled(ticks: number[], step: number): TimeTick[] {
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const usual =
    step < 60 * SECOND
      ? new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" })
      : step < DAY
        ? new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })
        : step < MONTH
          ? day
          : step < 12 * MONTH
            ? new Intl.DateTimeFormat(undefined, { month: "short", year: "numeric" })
            : new Intl.DateTimeFormat(undefined, { year: "numeric" });
  return ticks.map((at) => {
    const isMidnight = new Date(at).setHours(0, 0, 0, 0) === at;
    return { at, label: (step < DAY && isMidnight ? day : usual).format(at) };
  });
}
