import { useChanges } from "@/lib/changes";

const SHORTEST_MS = 250; // as often as the server tells

export function useInventoryChanges(onChange: () => void) {
  useChanges("inventory", onChange, SHORTEST_MS);
}
