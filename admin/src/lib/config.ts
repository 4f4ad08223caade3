// Where the API is: the server that the pages come from, unless the UI was built for another one.

/** An origin such as https://webloom.example.org; empty for the pages' own. Next writes it into the scripts. */
export const API_BASE_URL = (process.env.NEXT_PUBLIC_API_BASE_URL ?? "").replace(/\/+$/, "");

/** Whether pages and API have different origins. A link to the API carries no Origin, and is refused. */
export const IS_API_ELSEWHERE = API_BASE_URL !== "";

/** The whole address of a path of the API. */
export function apiAddress(path: string): string {
  return `${API_BASE_URL}${path}`;
}
