// Saves files. Those of the API are fetched by script, because a link carries no key.

import { send } from "./api";

const READ_BY_THEN_MS = 60_000; // the browser reads it after the click

/** Saves data as a file of that name. */
export function save(name: string, content: Blob) {
  const file = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = file;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(file), READ_BY_THEN_MS);
}

/** Saves the response of an address. */
export async function download(address: string, name: string) {
  save(name, await (await send(address)).blob());
}

export function saveText(name: string, text: string, type = "text/plain") {
  save(name, new Blob([text], { type: `${type};charset=utf-8` }));
}
