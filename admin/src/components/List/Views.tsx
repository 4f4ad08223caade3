"use client";

import { usePathname } from "next/navigation";
import { useState } from "react";
import { Button } from "@/components/Button";
import { Input } from "@/components/Form";
import { To } from "@/components/Links";
import { Menu, MENU_ITEM } from "@/components/Menu";
import { useUnsaved } from "@/lib/unsaved";
import { keepViews, viewsOf, withView, type View } from "./views";

/** The views of this screen that this browser keeps, as links. `prefix` is that of the list. */
export function Views({ prefix }: { prefix: string }) {
  const path = usePathname();
  const [views, setViews] = useState<View[]>(() => kept(path));
  const [name, setName] = useState("");
  useUnsaved(name, "");
  const keep = (next: View[]) => {
    setViews(next);
    try {
      keepViews(window.localStorage, path, next);
    } catch {
      // This browser stores nothing for this site: the views last until the page is left.
    }
  };
  const add = () => {
    keep(withView(views, name, window.location.search, prefix));
    setName("");
  };
  return (
    <Menu button="Views">
          <ul>
            {views.map((view) => (
              <li key={view.name} className="flex items-center gap-1">
                <To href={view.query ? `${path}?${view.query}` : path} className={`${MENU_ITEM} max-w-64 truncate`}>
                  {view.name}
                </To>
                <button
                  type="button"
                  className="size-6 shrink-0 rounded text-soft hover:text-bad"
                  onClick={() => keep(views.filter((each) => each !== view))}
                >
                  <span aria-hidden="true">×</span>
                  <span className="sr-only">Forget {view.name}</span>
                </button>
              </li>
            ))}
          </ul>
          <div className="flex items-center gap-2 p-1">
            <Input
              aria-label="Name of this view"
              placeholder="Name of this view"
              maxLength={60}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <Button disabled={name.trim() === ""} onClick={add}>
              Save
            </Button>
          </div>
    </Menu>
  );
}

function kept(path: string): View[] {
  try {
    return viewsOf(window.localStorage, path);
  } catch {
    return [];
  }
}
