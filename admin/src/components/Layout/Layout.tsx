"use client";

import { Suspense, useState, useSyncExternalStore, type ReactNode } from "react";
import { InboxCount } from "@/components/Layout/InboxCount";
import { KeyForm } from "@/components/Layout/KeyForm";
import { Navbar } from "@/components/Layout/Navbar";
import { Sidebar } from "@/components/Layout/Sidebar";
import { Unsaved } from "@/components/Layout/Unsaved";
import { RunningActions } from "@/components/Layout/RunningActions";
import { PageSkeleton } from "@/components/Skeleton";
import { Toasts } from "@/components/Toasts";
import { useKeptFocus } from "@/lib/focus";
import { useKeyWanted } from "@/lib/key";
import { useAwaySince } from "@/lib/reachable";

/** Navbar on top, sidebar on the left, content in the centre. */
export function Layout({ children }: { children: ReactNode }) {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const keyWanted = useKeyWanted();
  const isAway = useAwaySince() !== null;
  useKeptFocus();
  // One file serves many addresses, so a page's content is rendered in the browser only.
  const isInBrowser = useSyncExternalStore(never, () => true, () => false);
  return (
    <>
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:left-3 focus:top-3 focus:z-50 focus:rounded focus:bg-card focus:px-3 focus:py-2 focus:shadow-card"
      >
        Skip to the content
      </a>
      <Navbar isMenuOpen={isMenuOpen} onMenu={() => setMenuOpen(!isMenuOpen)} />
      <div className="mx-auto flex w-full max-w-[90rem]">
        <Sidebar isOpen={isMenuOpen} onLeave={() => setMenuOpen(false)} />
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 p-4 outline-none sm:p-6">
          <Suspense fallback={<PageSkeleton />}>
            {!isInBrowser ? <PageSkeleton /> : keyWanted ? <KeyForm /> : children}
          </Suspense>
        </main>
      </div>
      {isAway && (
        <div
          role="alert"
          className="fixed inset-x-0 bottom-0 z-40 border-t border-bad bg-bad-pale px-4 py-3 text-center text-bad"
        >
          Webloom is not responding. What you see may be out of date; this page updates by itself once it is back.
        </div>
      )}
      <InboxCount />
      <Unsaved />
      <div className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2">
        <RunningActions />
        <Toasts />
      </div>
    </>
  );
}

const never = () => () => {};
