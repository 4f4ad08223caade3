"use client";

import { useRef } from "react";
import { Button } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { AddressPager, cursorIn } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { say, sayError } from "@/components/Toasts";
import { useAddress } from "@/lib/address";
import { api } from "@/lib/api";
import { counted, waitingWords } from "@/lib/format";
import { countAgain, decide, mutePage, undoOf, useInboxCounts, type Decision, type Entry, type InboxState } from "@/lib/inbox";
import { useResource } from "@/lib/resource";
import { usePageKeys } from "@/lib/shortcuts";
import { useSteady } from "@/lib/steady";
import { useWatchChanges } from "@/lib/watch";
import { EntryRow, type Act } from "./EntryRow";
import { focusBeside, focused, step } from "./focus";

const LIMIT = 50;
const STATES: { state: InboxState; name: string; empty: string }[] = [
  { state: "unread", name: "Unread", empty: "Nothing waits" },
  { state: "snoozed", name: "Snoozed", empty: "Nothing is snoozed" },
  { state: "done", name: "Done", empty: "Nothing is done yet" },
  { state: "muted", name: "Muted", empty: "Nothing was muted" },
];
const TABS = STATES.map(({ state, name }): [string, string] => [state === "unread" ? "/inbox" : `/inbox?state=${state}`, name]);
const DONE: Decision = { state: "done" };
const WORDS: Record<Decision["state"], string> = { done: "marked as done", unread: "unread again", snoozed: "snoozed" };

export function View() {
  const [params] = useAddress();
  const here = STATES.find(({ state }) => state === params.get("state")) ?? STATES[0]!;
  const { state } = here;
  const pageName = `${state}Page`;
  const cursor = cursorIn(params, pageName);
  const entries = useSteady(
    useResource(`inbox ${state} ${cursor}`, (signal) =>
      api.get("/api/changes", { query: { state, limit: LIMIT, cursor }, signal }),
    ),
  );
  const counts = useInboxCounts();
  const box = useRef<HTMLOListElement>(null);

  function lookAgain() {
    entries.reload();
    countAgain();
  }
  useWatchChanges(lookAgain);

  async function change(changed: Entry[], decision: Decision) {
    const ids = changed.map(({ id }) => id);
    try {
      await decide(ids, decision);
    } catch (error) {
      sayError(error);
      return;
    }
    focusBeside(box.current, ids);
    entries.change((page) => ({ ...page, data: page.data.filter(({ id }) => !ids.includes(id)) }));
    lookAgain();
    const before = undoOf(changed[0]!);
    const undo = before && (() => void decide(ids, before).then(lookAgain, sayError));
    say(`${counted(ids.length, "change")} ${WORDS[decision.state]}.`, { undo: undo ?? undefined });
  }

  const act: Act = {
    decide: (entry, decision) => void change([entry], decision),
    mute: (entry, isMuted) => {
      const words = isMuted ? "is muted: its further changes don't wait in the inbox" : "is no longer muted";
      void mutePage(entry, isMuted).then(() => {
        lookAgain();
        say(`The page ${words}.`);
      }, sayError);
    },
  };
  const markFocused = () => {
    const id = focused(box.current)?.dataset.entry;
    const entry = entries.data?.data.find((each) => each.id === id);
    if (entry && entry.state !== "done") act.decide(entry, DONE);
  };
  usePageKeys([
    { key: "j", name: "Next change", run: () => step(box.current, 1) },
    { key: "k", name: "Previous change", run: () => step(box.current, -1) },
    { key: "o", name: "Open the change", run: () => focused(box.current)?.querySelector("a")?.click() },
    { key: "d", name: "Mark the change as done", run: markFocused },
  ]);

  return (
    <>
      <PageHead title="Inbox">Changes of watched pages, until someone has dealt with them.</PageHead>
      <Tabs label="Inbox" tabs={TABS} here={here.name} />
      <Card>
        <Loaded from={entries} lines={12}>
          {(page) => (
            <>
              {page.data.length > 0 && (
                <div className="mb-2 flex min-h-9 flex-wrap items-center justify-between gap-3">
                  <p className="text-sm text-soft tabular-nums">
                    {waitingWords(page.total, page.totalIsExact)} {here.name.toLowerCase()}
                  </p>
                  {state === "unread" && (
                    <Button onClick={() => void change(page.data, DONE)}>
                      Mark {page.data.length === 1 ? "it" : `these ${page.data.length}`} as done
                    </Button>
                  )}
                </div>
              )}
              {page.data.length > 0 ? (
                <ol ref={box} className="divide-y divide-line" aria-label={`${here.name} changes`}>
                  {page.data.map((entry) => (
                    <EntryRow key={entry.id} entry={entry} act={act} />
                  ))}
                </ol>
              ) : page.nextCursor !== null ? (
                <Empty title="Nothing found so far">There is more to look at on the next page.</Empty>
              ) : (
                <Empty title={here.empty}>
                  {state === "unread" && "When a watched page changes, the change comes here until someone marks it as done."}
                </Empty>
              )}
              <AddressPager name={pageName} next={page.nextCursor} />
            </>
          )}
        </Loaded>
      </Card>
      {counts !== null && counts.wentUnread > 0 && (
        <p className="mt-3 text-sm text-soft">
          {counted(counts.wentUnread, "change")} went unread in the last 30 days: removed with {counts.wentUnread === 1 ? "its" : "their"} history
          before anyone had dealt with {counts.wentUnread === 1 ? "it" : "them"}.
        </p>
      )}
    </>
  );
}
