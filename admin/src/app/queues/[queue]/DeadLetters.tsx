"use client";

import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Checkbox } from "@/components/Form";
import { CursorPager } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import type { Schema } from "@/lib/api";
import { counted, number } from "@/lib/format";
import type { Resource } from "@/lib/resource";
import { Act, type Deed } from "./Act";
import { DeadLetter } from "./DeadLetter";

/** The dead letters of a queue, and what can be done with one, many or all of them. */
export function DeadLetters({
  queue,
  dead,
  letters,
  isFirst,
  onPage,
}: {
  queue: string;
  dead: number | null; // how many there are; null: not known
  letters: Resource<Schema<"DeadLettersPage">>;
  isFirst: boolean;
  onPage: (cursor: string | null) => void;
}) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [deed, setDeed] = useState<Deed | null>(null);
  const list = useRef<HTMLDivElement>(null);
  const hasActed = useRef(false);
  useEffect(() => {
    if (hasActed.current) list.current?.focus(); // the button that had it went away with its letter
    hasActed.current = false;
  }, [letters.data]);
  const shown = letters.data?.data ?? [];
  const ids = shown.filter((letter) => chosen.has(letter.id)).map((letter) => letter.id);
  const askForAll = (verb: Deed["verb"]) => {
    // What dies while the question is open was not seen.
    if (letters.data) setDeed({ verb, which: { before: letters.data.at, count: dead } });
  };
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  return (
    <Card
      title={`Dead letters${dead === null ? "" : ` (${number(dead)})`}`}
      actions={
        shown.length > 0 && (
          <>
            <Button onClick={() => askForAll("put-back")}>Put all back</Button>
            <Button kind="danger" onClick={() => askForAll("discard")}>
              Discard all
            </Button>
          </>
        )
      }
    >
      <Loaded from={letters} lines={8}>
        {({ data, nextCursor }) => (
          <div ref={list} tabIndex={-1} role="group" aria-label="Dead letters" className="rounded-lg">
            {data.length === 0 ? (
              <Empty title={isFirst ? "No dead letters" : "No dead letters left on this page"}>
                {isFirst && (
                  <p>
                    Every message of this queue could be handled. One that can&apos;t be appears here with its reason.
                  </p>
                )}
              </Empty>
            ) : (
              <>
                <div className="flex min-h-9 flex-wrap items-center gap-3 border-b border-line pb-3">
                  <Checkbox
                    label={`Select all ${number(data.length)} shown`}
                    checked={ids.length === data.length}
                    onChange={({ target }) => setChosen(new Set(target.checked ? data.map(({ id }) => id) : []))}
                  />
                  <span className="ml-auto flex flex-wrap gap-2">
                    <Button disabled={ids.length === 0} onClick={() => setDeed({ verb: "put-back", which: { ids } })}>
                      Put back {ids.length > 0 && counted(ids.length, "selected", "selected")}
                    </Button>
                    <Button
                      kind="danger"
                      disabled={ids.length === 0}
                      onClick={() => setDeed({ verb: "discard", which: { ids } })}
                    >
                      Discard {ids.length > 0 && counted(ids.length, "selected", "selected")}
                    </Button>
                  </span>
                </div>
                <ul>
                  {data.map((letter) => (
                    <DeadLetter
                      key={letter.id}
                      letter={letter}
                      isChosen={chosen.has(letter.id)}
                      onChoose={(isChosen) => choose(letter.id, isChosen)}
                      onAct={(verb) => setDeed({ verb, which: { ids: [letter.id] } })}
                    />
                  ))}
                </ul>
              </>
            )}
            <CursorPager isFirst={isFirst} next={nextCursor} onFirst={() => onPage(null)} onNext={onPage} />
          </div>
        )}
      </Loaded>
      {deed && (
        <Act
          queue={queue}
          deed={deed}
          onClose={() => setDeed(null)}
          onDone={() => {
            setChosen(new Set());
            hasActed.current = true;
            letters.reload();
          }}
        />
      )}
    </Card>
  );
}
