"use client";

import Link from "next/link";
import { Button } from "@/components/Button";
import { changeHref, WhatChanged } from "@/components/Changes";
import { To, UrlText } from "@/components/Links";
import { Menu, MenuItem } from "@/components/Menu";
import { Time } from "@/components/Time";
import { shortUrl } from "@/lib/format";
import { snoozes, type Decision, type Entry } from "@/lib/inbox";
import { short, watchPath } from "@/lib/watch";

export type Act = {
  decide: (entry: Entry, decision: Decision) => void;
  mute: (entry: Entry, isMuted: boolean) => void; // its page
};

/** A change: of what, what it is, and what can be decided about it. */
export function EntryRow({ entry, act }: { entry: Entry; act: Act }) {
  const what = short(shortUrl(entry.url));
  return (
    <li data-entry={entry.id} className="scroll-my-20 py-3 first:pt-0 last:pb-0 focus-within:bg-page">
      <div className="flex flex-wrap items-baseline justify-between gap-x-3">
        <Link href={changeHref(entry)} prefetch={false} className="inline-block min-h-6 min-w-0 font-medium wrap-anywhere">
          <UrlText url={what} />
        </Link>
        <span className="text-sm text-soft">
          <Time at={entry.timestamp} ago />
        </span>
      </div>
      <p className="text-sm wrap-anywhere">
        <To href={watchPath(entry.jobId)} className="inline-block min-h-6">
          {entry.name}
        </To>
      </p>
      <WhatChanged change={entry} />
      {entry.snoozedUntil && (
        <p className="text-sm text-soft">
          Comes back <Time at={entry.snoozedUntil} />
        </p>
      )}
      <div className="mt-2 flex flex-wrap gap-2">
        {entry.state !== "done" && (
          <Button aria-label={`Done: ${what}`} onClick={() => act.decide(entry, { state: "done" })}>
            Done
          </Button>
        )}
        {entry.state !== "unread" && (
          <Button aria-label={`Mark as unread: ${what}`} onClick={() => act.decide(entry, { state: "unread" })}>
            Mark as unread
          </Button>
        )}
        <Menu button="Snooze" label={`Snooze: ${what}`}>
          {snoozes(new Date()).map(({ name, until }) => (
            <MenuItem key={name} onClick={() => act.decide(entry, { state: "snoozed", until: until.toISOString() })}>
              {name}
            </MenuItem>
          ))}
        </Menu>
        <Button aria-label={`${entry.isMuted ? "Unmute" : "Mute"} this page: ${what}`} onClick={() => act.mute(entry, !entry.isMuted)}>
          {entry.isMuted ? "Unmute this page" : "Mute this page"}
        </Button>
      </div>
    </li>
  );
}
