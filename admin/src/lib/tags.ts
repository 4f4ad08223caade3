// Tags as they are typed: with commas between them.

export const TAGS_HINT = "Separated by commas; up to 20, of 50 characters each.";

export function tagsIn(text: string): string[] {
  return text
    .split(",")
    .map((tag) => tag.trim())
    .filter(Boolean);
}
