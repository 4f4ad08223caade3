"use client";

import { Menu, MenuItem } from "@/components/Menu";
import { number } from "@/lib/format";

export type Tag = { tag: string; count: number };

const MOST = 12; // on the screen; the others are in a menu

/** Tags to filter by. The chosen one is among them, however rare it is. */
export function Tags({ tags, chosen, onChoose }: { tags: Tag[]; chosen: string; onChoose: (tag: string) => void }) {
  const byCount = [...tags].sort((one, other) => other.count - one.count);
  const shown = byCount.filter(({ tag }, index) => index < MOST || tag === chosen);
  const others = byCount.filter((each) => !shown.includes(each));
  return (
    <div role="group" aria-label="Tags" className="flex flex-wrap items-center gap-1.5">
      {shown.map(({ tag, count }) => (
        <button
          key={tag}
          type="button"
          aria-pressed={tag === chosen}
          onClick={() => onChoose(tag === chosen ? "" : tag)}
          className={`inline-flex min-h-6 max-w-full items-center gap-1 rounded-full border px-2.5 text-sm hover:border-accent ${tag === chosen ? "border-accent bg-accent text-accent-ink" : "border-line bg-page text-ink"}`}
        >
          <span className="truncate">{tag}</span> <span className="tabular-nums">{number(count)}</span>
        </button>
      ))}
      {others.length > 0 && (
        <Menu button={`${number(others.length)} more`} look="min-h-6 rounded-full border border-line px-2.5 text-sm hover:border-accent">
          {others.map(({ tag, count }) => (
            <MenuItem key={tag} onClick={() => onChoose(tag)}>
              {tag} {number(count)}
            </MenuItem>
          ))}
        </Menu>
      )}
    </div>
  );
}

const IN_A_ROW = 2;

/** The tags of one row: the first ones, and how many more there are. They take the room that the name leaves, and are
 * cut if that is little. */
export function TagList({ tags }: { tags: string[] }) {
  if (tags.length === 0) return null;
  const more = tags.length - IN_A_ROW;
  return (
    <span className={`flex max-w-max min-w-0 shrink-0 grow ${tags.length > 1 ? "basis-48" : "basis-24"} gap-1 text-xs leading-4 font-normal`} title={tags.join(", ")}>
      {tags.slice(0, IN_A_ROW).map((tag) => (
        <span key={tag} className="min-w-0 truncate rounded bg-accent-pale px-1 text-accent-strong">
          {tag}
        </span>
      ))}
      {more > 0 && <span className="shrink-0 text-soft">+{number(more)}</span>}
    </span>
  );
}
