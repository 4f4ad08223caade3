"use client";

import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { Confirm } from "@/components/Dialog";
import { Field, Input } from "@/components/Form";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import { api, type Schema } from "@/lib/api";
import {
  NOTHING,
  choose,
  collectionName,
  forget,
  restore,
  restoring,
  stop,
  verdictOf,
  type Contents,
  type Done,
  type RestoreResult,
  type Restoring,
} from "@/lib/backup";
import { bytes, counted, number } from "@/lib/format";
import { useResource, type Resource } from "@/lib/resource";
import { useFollowed } from "@/lib/store";

const EVERY_MS = 5000;

/** From the choice of a file to what became of its items. */
export function Restore() {
  const now = useFollowed(restoring, NOTHING);
  const stored = useResource("restore", (signal) => api.get("/api/restore", { signal }), { everyMs: EVERY_MS });
  const input = useRef<HTMLInputElement>(null);
  const isAtWork = now.step === "restoring";
  const { reload } = stored;
  useEffect(reload, [reload, now.step]);
  const again = () => {
    forget();
    if (input.current) input.current.value = "";
    input.current?.focus();
  };
  return (
    <section aria-labelledby="restore-backup" className="flex flex-col gap-3">
      <h3 id="restore-backup">Restore</h3>
      <p className="max-w-prose text-soft">
        From a file of this page or of <code>webloom dump</code>. You see what is in it before anything is stored.
      </p>
      {stored.data && !isAtWork && now.step !== "ended" && <Unfinished found={stored.data} stored={stored} />}
      {!isAtWork && now.step !== "ended" && (
        <Field label="Backup" hint="A file that ends in .zst" className="max-w-md">
          <Input
            ref={input}
            type="file"
            accept=".zst,application/zstd"
            onChange={({ target }) => {
              const file = target.files?.[0];
              if (file) void choose(file);
              else forget();
            }}
          />
        </Field>
      )}
      <Step now={now} onAgain={again} />
    </section>
  );
}

/** What was begun elsewhere, or before. */
function Unfinished({ found, stored }: { found: Schema<"RestoreState">; stored: Resource<Schema<"RestoreState">> }) {
  const [isAsking, setAsking] = useState(false);
  if (found.state === "none") return null;
  const since = found.begunAt === null ? null : <Time at={found.begunAt} />;
  return (
    <div className="rounded-lg bg-warn-pale p-3 text-warn">
      {found.state === "running" ? (
        <p>A backup is being restored now, from another tab or by someone else. Meanwhile nothing scheduled starts.</p>
      ) : (
        <>
          <p>
            A restore that began at {since} was interrupted. Nothing scheduled starts until it is complete: choose the
            same file again to continue, or give it up.
          </p>
          <div className="mt-3">
            <Button onClick={() => setAsking(true)}>Give up</Button>
          </div>
        </>
      )}
      {isAsking && (
        <Confirm
          title="Give the restore up?"
          yes="Give up"
          onYes={async () => {
            await api.delete("/api/restore");
            stored.reload();
          }}
          onClose={() => setAsking(false)}
        >
          What was loaded stays, and scheduled imports and checks start again. They don&apos;t know what is missing: an
          import may count postings as new, and the first check of a page may miss a change.
        </Confirm>
      )}
    </div>
  );
}

function Step({ now, onAgain }: { now: Restoring; onAgain: () => void }) {
  switch (now.step) {
    case "none":
      return null;
    case "reading":
      return (
        <div className="flex flex-wrap items-center gap-3">
          <p role="status" className="min-w-0 wrap-anywhere">
            Reading {now.file.name} ({bytes(now.file.size)}) to its end …
          </p>
          <Button onClick={onAgain}>Cancel</Button>
        </div>
      );
    case "read":
      return <Preview file={now.file} contents={now.contents} onAgain={onAgain} />;
    case "restoring":
      return <Progress file={now.file} contents={now.contents} done={now.done} />;
    case "ended":
      return <Result result={now.result} onAgain={onAgain} />;
    case "failed":
      return (
        <div role="alert" className="rounded-lg border border-bad bg-bad-pale p-4 text-bad">
          <p className="font-medium wrap-anywhere">{now.file.name} was not restored</p>
          <p className="mt-1 wrap-anywhere">{now.reason}</p>
        </div>
      );
  }
}

function Preview({ file, contents, onAgain }: { file: File; contents: Contents; onAgain: () => void }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <div className="flex flex-col gap-3">
      <p role="status" className="wrap-anywhere">
        {file.name} is complete and undamaged: {counted(contents.items, "item")}, made by Webloom {contents.webloom}.
      </p>
      {contents.items > 0 && (
        <Table label="What is in the backup">
          <Head columns={{ What: "text", Items: "number" }} />
          <tbody>
            {filled(contents.collections).map((each) => (
              <tr key={each.collection}>
                <Td>{collectionName(each.collection)}</Td>
                <Td isNumber>{number(each.items)}</Td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <div className="flex flex-wrap gap-2">
        <Button kind="primary" onClick={() => setAsking(true)}>
          Restore …
        </Button>
        <Button onClick={onAgain}>Cancel</Button>
      </div>
      {isAsking && (
        <Confirm
          title={`Restore ${counted(contents.items, "item")}?`}
          yes="Restore"
          isDangerous={false}
          onYes={async () => void restore(file, contents)}
          onClose={() => setAsking(false)}
        >
          <p>
            What is missing here is added, and what is older here is replaced. What is newer here stays, and nothing is
            removed.
          </p>
          <p className="mt-2">
            Scheduled imports and checks wait until the restore is complete. Notifications that the backup holds as
            unsent are sent.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function Progress({ file, contents, done }: { file: File; contents: Contents; done: Done }) {
  return (
    <div className="flex flex-col gap-3">
      <p role="status" className="wrap-anywhere">
        Restoring {file.name}. Keep this tab open; other screens of Webloom can be used.
      </p>
      <dl className="flex max-w-xl flex-col gap-2">
        {filled(contents.collections).map(({ collection, items }) => {
          const name = collectionName(collection);
          const words = `${number(done[collection] ?? 0)} of ${number(items)}`;
          return (
            <div key={collection} className="grid grid-cols-[1fr_max-content] gap-x-4 text-sm">
              <dt>{name}</dt>
              <dd className="text-soft tabular-nums">{words}</dd>
              <dd className="col-span-2">
                <progress
                  className="block w-full"
                  aria-label={`${name}: ${words}`}
                  value={done[collection] ?? 0}
                  max={items}
                />
              </dd>
            </div>
          );
        })}
      </dl>
      <div>
        <Button onClick={stop}>Stop</Button>
      </div>
    </div>
  );
}

function Result({ result, onAgain }: { result: RestoreResult; onAgain: () => void }) {
  const samples = result.collections.flatMap((each) =>
    each.samples.map((sample) => `${collectionName(each.collection)}: ${sample}`),
  );
  return (
    <div className="flex flex-col gap-3">
      <p role="status" className={`rounded-lg p-3 ${result.verified ? "bg-good-pale text-good" : "bg-warn-pale text-warn"}`}>
        {verdictOf(result)}
      </p>
      <Table label="What became of the items">
        <Head
          columns={{
            What: "text",
            "In the backup": "number",
            Equal: "number",
            "Newer here": "number",
            Expired: "number",
            Missing: "number",
            Different: "number",
            Fingerprint: "text",
          }}
        />
        <tbody>
          {filled(result.collections).map((each) => (
            <tr key={each.collection}>
              <Td>{collectionName(each.collection)}</Td>
              <Td isNumber>{number(each.items)}</Td>
              <Td isNumber>{number(each.equal)}</Td>
              <Td isNumber>{number(each.newerHere)}</Td>
              <Td isNumber>{number(each.expired)}</Td>
              <Td isNumber>{number(each.missing)}</Td>
              <Td isNumber>{number(each.different)}</Td>
              <Td>{each.fingerprint === each.fingerprintHere ? "same" : "another"}</Td>
            </tr>
          ))}
        </tbody>
      </Table>
      {samples.length > 0 && (
        <ul aria-label="Missing or different" className="list-disc pl-5 text-sm wrap-anywhere">
          {samples.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      )}
      <div>
        <Button onClick={onAgain}>Restore another file</Button>
      </div>
    </div>
  );
}

function filled<Each extends { items: number }>(collections: Each[]): Each[] {
  return collections.filter((each) => each.items > 0);
}
