import { useState } from "react";
import type { Resource } from "./resource";

/** Data of the previous key stays on the screen while the next one is loading, so that nothing jumps. */
export function useSteady<T>(resource: Resource<T>): Resource<T> {
  const [kept, setKept] = useState(resource.data);
  if (resource.data !== undefined && resource.data !== kept) setKept(resource.data);
  return resource.data === undefined && resource.error === undefined ? { ...resource, data: kept } : resource;
}
