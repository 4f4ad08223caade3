import { useState } from "react";
import type { Resource } from "./resource";

/** What was loaded for the key before stays on the screen while another is loaded, so that nothing jumps. */
export function useSteady<T>(resource: Resource<T>): Resource<T> {
  const [kept, setKept] = useState(resource.data);
  if (resource.data !== undefined && resource.data !== kept) setKept(resource.data);
  return resource.data === undefined && resource.error === undefined ? { ...resource, data: kept } : resource;
}
