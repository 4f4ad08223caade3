/** Round values from below the least to above the most. */
export function niceTicks(least: number, most: number): number[] {
  const span = most - least || Math.abs(most) * 0.2 || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? rough;
  const below = Math.floor((least - span * 0.05) / step);
  const start = least < 0 ? below : Math.max(below, 0); // a price is not below nothing
  const end = Math.ceil((most + span * 0.05) / step);
  return Array.from({ length: Math.max(end - start, 1) + 1 }, (_, index) =>
    Number(((start + index) * step).toPrecision(12)),
  );
}
