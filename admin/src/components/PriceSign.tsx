import type { Move } from "@/components/priceCurve";

export const MOVES = {
  rise: { line: "stroke-bad", mark: "fill-bad", text: "text-bad", sign: "▲", word: "rose" },
  fall: { line: "stroke-good", mark: "fill-good", text: "text-good", sign: "▼", word: "fell" },
} as const;

/** A rise or a fall, by shape and colour. The words beside it say the same. */
export function PriceSign({ move }: { move: NonNullable<Move> }) {
  return (
    <span aria-hidden="true" className={MOVES[move].text}>
      {MOVES[move].sign}
    </span>
  );
}
