// The removal of what a page shows. From the question on the page asks for nothing of it any more:
// the news that it is gone may come before the answer, and would only show it as missing.

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
