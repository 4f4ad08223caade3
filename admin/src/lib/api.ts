// The one way to the API: typed by its OpenAPI document, with the key where one is asked for.

import type { components, paths } from "./api-types";
import { apiAddress } from "./config";
import { currentKey, noteKeyWanted } from "./key";
import { noteAnswered, noteUnreachable } from "./reachable";

export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

type Verb = "get" | "post" | "patch" | "delete";
type With<V extends Verb> = {
  [P in keyof paths]: paths[P][V] extends undefined ? never : P;
}[keyof paths];
type Json<T> = T extends { content: infer C }
  ? "application/json" extends keyof C
    ? C["application/json"]
    : "text/plain" extends keyof C
      ? string
      : never
  : undefined;
type Good<R> = {
  [S in keyof R]: S extends 200 | 201 | 202 | 204 ? Json<R[S]> : never;
}[keyof R];
type Answer<P extends keyof paths, V extends Verb> = paths[P][V] extends { responses: infer R }
  ? Good<R>
  : never;
type Query<P extends keyof paths, V extends Verb> = paths[P][V] extends {
  parameters: { query?: infer Q };
}
  ? { [Name in keyof Q]: Q[Name] | null } // null: it is left out
  : never;
type Body<P extends keyof paths, V extends Verb> = paths[P][V] extends { requestBody: { content: infer C } }
  ? C[keyof C]
  : paths[P][V] extends { requestBody?: { content: infer C } }
    ? C[keyof C] | undefined
    : undefined;

type Options<P extends keyof paths, V extends Verb> = {
  path?: Record<string, string | number>;
  query?: Query<P, V>;
  body?: Body<P, V>;
  contentType?: string; // of a body that is sent as it is
  signal?: AbortSignal;
};

/** What the API refused, in its own words. */
export class ApiError extends Error {
  readonly status: number;
  readonly problem: Record<string, unknown>;

  constructor(status: number, message: string, problem: Record<string, unknown> = {}) {
    super(message);
    this.status = status;
    this.problem = problem;
  }
}

/** The API did not answer at all. */
export class Unreachable extends Error {
  constructor() {
    super("Webloom is not responding. It may be restarting; this page retries on its own.");
  }
}

export function addressOf(
  template: string,
  path: Record<string, string | number> = {},
  query: object = {},
): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(path[name])));
  const given = Object.entries(query)
    .flatMap(([name, value]) => [value].flat().map((each) => [name, each] as const))
    .filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${filled}?${text}` : filled;
}

export function keyHeaders(): Record<string, string> {
  const key = currentKey();
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/** The error for a response that did not arrive, or not completely. */
function lost(error: unknown, signal: AbortSignal | null | undefined): unknown {
  const isLate = error instanceof Error && error.name === "TimeoutError";
  if (signal?.aborted && !isLate) return error; // the caller no longer waits for it
  noteUnreachable();
  return new Unreachable();
}

/** Sends a request, and tells a refusal by the API from an API that does not respond. */
export async function send(address: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(apiAddress(address), {
      cache: "no-store",
      ...init,
      headers: { ...keyHeaders(), ...(init.headers as Record<string, string> | undefined) },
    });
  } catch (error) {
    throw lost(error, init.signal);
  }
  noteAnswered();
  if (response.ok) return response;
  const answer: unknown = await response.json().catch(() => null); // a proxy may answer with anything
  const problem = typeof answer === "object" ? ((answer ?? {}) as Record<string, unknown>) : {};
  if (response.status === 401 || (response.status === 403 && currentKey())) noteKeyWanted();
  const detail = typeof problem.detail === "string" ? problem.detail : `The API returned ${response.status}.`;
  throw new ApiError(response.status, detail, problem);
}

async function call<P extends keyof paths, V extends Verb>(
  verb: V,
  template: P,
  options: Options<P, V> = {},
): Promise<Answer<P, V>> {
  const { path, query, body, contentType, signal } = options;
  const response = await send(addressOf(template as string, path, query as object | undefined), {
    method: verb.toUpperCase(),
    signal,
    ...(body === undefined
      ? {}
      : {
          body: contentType ? String(body) : JSON.stringify(body),
          headers: { "Content-Type": contentType ?? "application/json" },
        }),
  });
  const text = await response.text().catch((error: unknown) => {
    throw lost(error, signal);
  });
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return (isJson && text ? JSON.parse(text) : text) as Answer<P, V>;
}

export const api = {
  get: <P extends With<"get">>(path: P, options?: Options<P, "get">) => call("get", path, options),
  post: <P extends With<"post">>(path: P, options?: Options<P, "post">) => call("post", path, options),
  patch: <P extends With<"patch">>(path: P, options?: Options<P, "patch">) => call("patch", path, options),
  delete: <P extends With<"delete">>(path: P, options?: Options<P, "delete">) => call("delete", path, options),
};

const FIELD = /^(urls|name|tags|schedule|selection|thresholds|targets)(\.\w+)?: /;

/** Without the API's name for the field, which the page calls by another. */
export function withoutField(message: string): string {
  return message.replace(FIELD, "");
}

/** In words for a person, whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
