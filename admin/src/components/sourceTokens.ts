// Where the parts of a source begin, for colouring. Each tokenizer goes over the text once, forward
// only, so that a hostile source costs no more than its length.

export type Kind = "text" | "tag" | "name" | "string" | "comment" | "literal";
export type Token = { start: number; kind: Kind }; // up to where the next one starts
export type Language = "html" | "json" | "plain";

export function languageOf(text: string, contentType: string | null | undefined): Language {
  const type = contentType?.toLowerCase() ?? "";
  if (type.includes("json")) return "json";
  if (type.includes("html") || type.includes("xml")) return "html";
  const first = /\S/.exec(text.slice(0, 1000))?.[0];
  if (first === "<") return "html";
  return first === "{" || first === "[" ? "json" : "plain";
}

export function tokensOf(text: string, language: Language): Token[] {
  if (language === "html") return htmlTokens(text);
  if (language === "json") return jsonTokens(text);
  return [{ start: 0, kind: "text" }];
}

function orEnd(text: string, index: number, length: number): number {
  return index < 0 ? text.length : index + length;
}

function htmlTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (kind: Kind, end: number) => {
    if (end > at && tokens.at(-1)?.kind !== kind) tokens.push({ start: at, kind });
    at = end;
  };
  while (at < text.length) {
    take("text", orEnd(text, text.indexOf("<", at), 0));
    if (text.startsWith("<!--", at)) {
      take("comment", orEnd(text, text.indexOf("-->", at + 4), 3));
    } else if (text[at + 1] === "!" || text[at + 1] === "?") {
      take("comment", orEnd(text, text.indexOf(">", at), 1));
    } else if (/[a-zA-Z/]/.test(text[at + 1] ?? "")) {
      const name = takeTag(text, at, take);
      const close = name === "script" || name === "style" ? new RegExp(`</${name}`, "gi") : null;
      if (close) {
        close.lastIndex = at;
        take("text", close.exec(text)?.index ?? text.length);
      }
    } else {
      take("text", at + 1);
    }
  }
  return tokens;
}

const TAG_START = /<\/?[^\s/>]*/y;
const PART = /[^\s=>"'/]+|=\s*(?:"[^"]*"?|'[^']*'?|[^\s>"']+)?|["'/]|\s+/y;

/** Takes a tag with its attributes; returns its name, in lower case. */
function takeTag(text: string, from: number, take: (kind: Kind, end: number) => void): string {
  TAG_START.lastIndex = from;
  const start = TAG_START.exec(text)?.[0] ?? "<";
  let end = from + start.length;
  take("tag", end);
  while (end < text.length) {
    PART.lastIndex = end;
    const part = PART.exec(text)?.[0];
    if (part === undefined) break;
    end += part.length;
    take(part.startsWith("=") ? "string" : /^["'/\s]/.test(part) ? "text" : "name", end);
  }
  if (text[end] === ">") take("tag", end + 1);
  return start.slice(1).toLowerCase();
}

const JSON_PART = /-?\d[\d.eE+-]*|true|false|null|[^"\dtfn-]+|[^]/y;

function jsonTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const end = text[at] === '"' ? stringEnd(text, at) : partEnd(text, at);
    let kind: Kind = "text";
    if (text[at] === '"') kind = isKey(text, end) ? "name" : "string";
    else if (/^(-?\d|true|false|null)/.test(text.slice(at, at + 5))) kind = "literal";
    if (tokens.at(-1)?.kind !== kind) tokens.push({ start: at, kind });
    at = end;
  }
  return tokens;
}

function partEnd(text: string, at: number): number {
  JSON_PART.lastIndex = at;
  return at + (JSON_PART.exec(text)?.[0].length ?? 1);
}

function stringEnd(text: string, at: number): number {
  for (let place = at + 1; place < text.length; place += 1) {
    if (text[place] === "\\") place += 1;
    else if (text[place] === '"') return place + 1;
  }
  return text.length;
}

function isKey(text: string, end: number): boolean {
  while (end < text.length && " \t\r\n".includes(text.charAt(end))) end += 1;
  return text[end] === ":";
}
