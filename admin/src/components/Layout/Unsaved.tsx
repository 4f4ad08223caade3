"use client";

import { useEffect } from "react";
import { Confirm } from "@/components/Dialog";
import { useFollowed } from "@/lib/store";
import { hasUnsaved, leave, linkAway, waiting } from "@/lib/unsaved";

/** Asks before edits are discarded, whichever way the page is left: by a link, by Back or Forward, or with the tab. */
export function Unsaved() {
  useLinks();
  useHistory();
  useTab();
  const go = useFollowed(waiting, null);
  if (go === null) return null;
  return (
    <Confirm
      title="Discard your changes?"
      yes="Discard"
      no="Keep editing"
      onYes={async () => {
        waiting.set(null); // at once with what it closes, so that the focus goes back to before both
        go();
      }}
      onClose={() => waiting.set(null)}
    >
      <p>They have not been saved.</p>
    </Confirm>
  );
}

function useLinks() {
  useEffect(() => {
    const onClick = (event: MouseEvent) => {
      const link = hasUnsaved() ? linkAway(event) : null;
      if (!link) return;
      event.preventDefault();
      event.stopPropagation();
      leave(() => link.click());
    };
    window.addEventListener("click", onClick, true); // before the link's own handler
    return () => window.removeEventListener("click", onClick, true);
  }, []);
}

type Entry = { index: number; url: string };
type Navigation = EventTarget & { currentEntry: Entry };
type EntryChange = Event & { from: Entry; navigationType: string };

/** The browser has already gone to another entry of its history when it says so: it is sent back, and then the question
 * is asked. The router must not notice: events of the window go to who listened first, and a component's effects run
 * before those of the router around it. */
function useHistory() {
  useEffect(() => {
    const { navigation } = window as { navigation?: Navigation };
    if (!navigation) return; // a browser older than 2026 doesn't say in which direction it goes
    let from: Entry = navigation.currentEntry;
    let isReturning = false;
    const note = (event: Event) => {
      const change = event as EntryChange;
      if (change.navigationType === "traverse") from = change.from;
    };
    const onMove = (event: PopStateEvent) => {
      const steps = navigation.currentEntry.index - from.index;
      if (!isReturning && (!hasUnsaved() || new URL(from.url).pathname === window.location.pathname)) return;
      event.stopImmediatePropagation();
      isReturning = !isReturning;
      if (!isReturning) return;
      window.history.go(-steps);
      leave(() => window.history.go(steps));
    };
    navigation.addEventListener("currententrychange", note);
    window.addEventListener("popstate", onMove);
    return () => {
      navigation.removeEventListener("currententrychange", note);
      window.removeEventListener("popstate", onMove);
    };
  }, []);
}

function useTab() {
  useEffect(() => {
    const onUnload = (event: BeforeUnloadEvent) => {
      if (hasUnsaved()) event.preventDefault(); // the browser asks in its own words
    };
    window.addEventListener("beforeunload", onUnload);
    return () => window.removeEventListener("beforeunload", onUnload);
  }, []);
}
