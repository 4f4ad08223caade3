"use client";

import { To } from "@/components/Links";

/** Parts of one screen, each with an address. */
export function Tabs({ label, here, tabs }: { label: string; here: string; tabs: [href: string, name: string][] }) {
  return (
    <nav aria-label={label} className="mb-4 border-b border-line">
      <ul className="-mb-px flex gap-1">
        {tabs.map(([href, name]) => (
          <li key={href}>
            <To
              href={href}
              isHere={name === here}
              className={`block border-b-2 px-3 py-2 font-medium hover:no-underline ${name === here ? "border-accent !text-ink" : "border-transparent !text-soft hover:!text-ink"}`}
            >
              {name}
            </To>
          </li>
        ))}
      </ul>
    </nav>
  );
}
