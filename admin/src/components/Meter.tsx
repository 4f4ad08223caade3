/** How much of something is used, as a bar. `label` says it in words. */
export function Meter({
  value,
  most,
  label,
  tone,
}: {
  value: number;
  most: number;
  label: string;
  tone?: "accent" | "warn" | "bad"; // by itself: how near it is to the most
}) {
  const share = most > 0 ? Math.min(1, Math.max(0, value / most)) : 0;
  const look = { accent: "fill-accent", warn: "fill-warn", bad: "fill-bad" }[
    tone ?? (share >= 0.95 ? "bad" : share >= 0.8 ? "warn" : "accent")
  ];
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      className="block h-2 w-full rounded-full"
    >
      <title>{label}</title>
      <rect width="100" height="8" className="fill-accent-pale" />
      <rect width={(share * 100).toFixed(2)} height="8" className={look} />
    </svg>
  );
}
