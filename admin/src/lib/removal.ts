// Removing what a page shows. From the question on, the page loads nothing more of it: the event that it is gone may
// arrive before the answer, and the page would show it as missing.

import { useCallback, useState } from "react";

export type Removal = {
  isAsking: boolean;
  isHeld: boolean; // being asked about, or gone
  ask: () => void;
  close: () => void; // the question; what is gone stays gone
  done: () => void;
};

export function useRemoval(): Removal {
  const [step, setStep] = useState<"asking" | "gone" | null>(null);
  return {
    isAsking: step === "asking",
    isHeld: step !== null,
    ask: useCallback(() => setStep("asking"), []),
    close: useCallback(() => setStep((now) => (now === "gone" ? now : null)), []),
    done: useCallback(() => setStep("gone"), []),
  };
}
