"use client";

import Link from "next/link";
import { usePathname } from "next/navigation";
import { useEffect, type ReactNode } from "react";
import {
  FeedIcon,
  HistoryIcon,
  HomeIcon,
  InboxIcon,
  InventoryIcon,
  JobsIcon,
  QueuesIcon,
  SystemIcon,
  WatchIcon,
} from "@/components/Icons";
import { waitingWords } from "@/lib/format";
import { useInboxCounts } from "@/lib/inbox";

const PLACES: { href: string; name: string; icon: ReactNode }[] = [
  { href: "/", name: "Overview", icon: <HomeIcon /> },
  { href: "/inbox", name: "Inbox", icon: <InboxIcon /> },
  { href: "/import-history", name: "Import history", icon: <HistoryIcon /> },
  { href: "/feeds", name: "Feeds", icon: <FeedIcon /> },
  { href: "/jobs", name: "Postings", icon: <JobsIcon /> },
  { href: "/inventory", name: "Inventory", icon: <InventoryIcon /> },
  { href: "/watch", name: "Watch", icon: <WatchIcon /> },
  { href: "/queues", name: "Queues", icon: <QueuesIcon /> },
  { href: "/system", name: "System", icon: <SystemIcon /> },
];

type Props = { isOpen: boolean; onLeave: () => void };

export function Sidebar({ isOpen, onLeave }: Props) {
  const path = usePathname();
  useEffect(() => {
    if (!isOpen) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") onLeave();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [isOpen, onLeave]);
  return (
    <nav
      id="menu"
      aria-label="Main"
      className={`${isOpen ? "fixed inset-x-0 top-14 z-20 block border-b border-line bg-card shadow-card" : "hidden"} shrink-0 p-3 md:sticky md:top-14 md:block md:h-[calc(100vh-3.5rem)] md:w-52 md:border-b-0 md:bg-transparent md:py-6 md:shadow-none`}
    >
      <ul className="flex flex-col gap-1">
        {PLACES.map(({ href, name, icon }) => {
          const isHere = href === "/" ? path === "/" : path === href || path.startsWith(`${href}/`);
          return (
            <li key={href}>
              <Link
                href={href}
                prefetch={false}
                onClick={onLeave}
                aria-current={isHere ? "page" : undefined}
                className={`flex items-center gap-3 rounded-lg px-3 py-2 hover:no-underline ${
                  isHere ? "bg-accent-pale font-medium !text-accent-strong" : "!text-soft hover:!text-ink"
                }`}
              >
                {icon}
                {name}
                {href === "/inbox" && <Waiting />}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

/** How many changes wait in the inbox. */
function Waiting() {
  const counts = useInboxCounts();
  if (counts === null || counts.unread === 0) return null;
  return (
    <span className="ml-auto rounded-full bg-accent px-2 text-xs leading-5 text-accent-ink tabular-nums">
      {waitingWords(counts.unread, counts.unreadIsExact)}
      <span className="sr-only"> unread</span>
    </span>
  );
}
