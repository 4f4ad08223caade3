import { useState } from "react";
import type { Resource, Shown } from "./resource";

/** Whether each of them has been loaded, or has failed, once. Until then a page has no shape that would last, and what
 * is shown would be moved by what comes. */
export function useSettled(resources: Pick<Resource<unknown>, "isLoading">[]): boolean {
  const isNow = resources.every(({ isLoading }) => !isLoading);
  const [was, setWas] = useState(isNow);
  if (isNow && !was) setWas(true);
  return was || isNow;
}

/** `shown`, once the others are settled too: what stands above it would move it. */
export function useAfter<T>(shown: Shown<T>, others: Pick<Resource<unknown>, "isLoading">[]): Shown<T> {
  const isSettled = useSettled(others);
  return isSettled ? shown : { ...shown, data: undefined, error: undefined, isLoading: true };
}
