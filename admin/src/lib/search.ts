// How lists are searched, as the server does it (domain/search.py): every word of the query is the beginning of a word.

const TERM = /"(?<phrase>[^"]*)"?(?<star>\s*\*)?|(?<joined>[^\s"]+)/g;

/** Whether one of the texts has each term: words that the query joins or quotes stand in a row. */
export function isFound(query: string, texts: string[]): boolean {
  const found = texts.map((text) => ` ${wordsOf(text).join(" ")} `).join("\n");
  const terms = [...query.matchAll(TERM)].flatMap(({ groups: { phrase, star, joined } = {} }) => {
    const words = wordsOf(joined ?? phrase ?? "").join(" ");
    const isOpen = joined !== undefined || star !== undefined || phrase?.trimEnd().endsWith("*");
    return words ? [isOpen ? ` ${words}` : ` ${words} `] : [];
  });
  if (terms.length === 0) return query.trim() === "";
  return terms.every((term) => found.includes(term));
}

/** Letters and digits, in one case and without accents. */
function wordsOf(text: string): string[] {
  const bare = text.normalize("NFD").replace(/\p{Mn}/gu, "");
  const folded = bare.toUpperCase().toLowerCase().replaceAll("ς", "σ"); // so that ß is ss, as on the server
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [];
}
