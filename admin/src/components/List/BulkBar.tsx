"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Dialog";
import { Menu, MenuItem } from "@/components/Menu";
import { number } from "@/lib/format";
import { isAskedFor, undoWords } from "./questions";
import type { BulkAction } from "./types";
import type { Bulk } from "./useBulk";
import { missedWords, progressWords } from "./runningActions";

/** What is selected, and what identifies it in a request. */
export type Chosen = {
  words: string; // "3 watches", "all 302 watches"
  count: number | null; // null: not known exactly
  which: object;
};

type Asking = { action: BulkAction; chosen: Chosen };

/** The actions for selected rows, or the progress of the one that is running. */
export function BulkBar({
  actions,
  bulk,
  chosen,
  isNarrow,
  isLoading,
  onAll,
  all,
  onClear,
  onRun,
}: {
  actions: BulkAction[];
  bulk: Bulk;
  chosen: Chosen;
  isNarrow: boolean; // there is no room for a button for each
  isLoading: boolean; // what is shown is not yet what was asked for: nobody knows what would be changed
  all: string;
  onAll: (() => void) | null; // null: there are no more than are selected
  onClear: () => void;
  onRun: (action: BulkAction, body: object) => void;
}) {
  const [asking, setAsking] = useState<Asking | null>(null); // as it was when the question came up
  const { progress } = bulk;
  if (progress !== null) {
    return (
      <>
        <progress aria-label="Done" className="w-40" value={progress.done} max={Math.max(progress.total, 1)} />
        <span role="status" className="text-sm tabular-nums">
          {progressWords(progress)}
        </span>
        <Button onClick={bulk.stop}>Stop</Button>
      </>
    );
  }
  const choose = (action: BulkAction) =>
    action.Form || isAskedFor(action, chosen.count)
      ? setAsking({ action, chosen })
      : onRun(action, { ...action.body, ...chosen.which });
  return (
    <>
      <span role="status" className="text-sm font-medium">
        {chosen.words} selected
      </span>
      {onAll && (
        <Button disabled={isLoading} onClick={onAll}>
          Select {all}
        </Button>
      )}
      {isNarrow ? (
        <Menu button="Actions">
          {actions.map((action) => (
            <MenuItem key={action.name} isDangerous={action.isDangerous} isOff={isLoading} onClick={() => choose(action)}>
              {action.name}
            </MenuItem>
          ))}
        </Menu>
      ) : (
        actions.map((action) => (
          <Button
            key={action.name}
            kind={action.isDangerous ? "danger" : "plain"}
            disabled={isLoading}
            onClick={() => choose(action)}
          >
            {action.name}
          </Button>
        ))
      )}
      <Button onClick={onClear}>Deselect</Button>
      {asking && (
        <Question
          {...asking}
          onClose={() => setAsking(null)}
          onGo={(body) => {
            setAsking(null);
            onRun(asking.action, { ...body, ...asking.chosen.which });
          }}
        />
      )}
    </>
  );
}

function Question({ action, chosen, onClose, onGo }: Asking & { onClose: () => void; onGo: (body: object) => void }) {
  const { Form, name, about, body = {}, isDangerous = false } = action;
  const undo = undoWords(action, chosen.count);
  if (Form) return <Form count={chosen.words} undo={undo} onClose={onClose} onGo={onGo} />;
  return (
    <Confirm
      title={`${name}: ${chosen.words}?`}
      yes={name}
      isDangerous={isDangerous}
      onClose={onClose}
      onYes={async () => onGo(body)}
    >
      <p>{[about, undo].filter(Boolean).join(" ")}</p>
    </Confirm>
  );
}

/** What the last request could not do, and why. */
export function Failures({ bulk }: { bulk: Bulk }) {
  if (bulk.failed === null) return null;
  const { failed, skipped, failures } = bulk.failed;
  const more = failed + skipped - failures.length;
  return (
    <div
      role="alert"
      className={`m-3 rounded-lg border p-3 text-sm ${failed > 0 ? "border-bad bg-bad-pale text-bad" : "border-line"}`}
    >
      <div className="flex items-start justify-between gap-3">
        <p className="font-medium">{missedWords(bulk.failed)}</p>
        <Button onClick={bulk.dismiss}>Close</Button>
      </div>
      <ul className="mt-1 max-h-48 overflow-y-auto">
        {failures.map(({ id, name, reason }) => (
          <li key={id} className="wrap-anywhere">
            {name || id}: {reason}
          </li>
        ))}
        {more > 0 && <li>and {number(more)} more</li>}
      </ul>
    </div>
  );
}
