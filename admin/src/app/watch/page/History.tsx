"use client";

import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Changes, type PageNames } from "@/components/Changes";
import { AddressPager, CursorPager } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import type { Schema } from "@/lib/api";
import type { Resource } from "@/lib/resource";
import type { Choice } from "./choice";
import { Versions } from "./Versions";

export type Listed = "changes" | "versions";

/** What happened to a page: its change log, or its versions. A click shows it beside, or above, the list. */
export function History({
  listed,
  changes,
  versions,
  names,
  chosen,
  isFirst,
  onList,
  onPage,
  onChoose,
}: {
  listed: Listed;
  changes: Resource<Schema<"ChangesPage">>;
  versions: Resource<Schema<"VersionsPage">>;
  names: PageNames;
  chosen: Choice;
  isFirst: boolean; // the first page of the versions
  onList: (listed: Listed) => void;
  onPage: (before: string) => void;
  onChoose: (change: Partial<Choice>) => void;
}) {
  return (
    <Card
      title={listed === "changes" ? "Change log" : "Versions"}
      className="xl:sticky xl:top-20 xl:max-h-[calc(100dvh-6rem)] xl:overflow-y-auto"
      actions={
        <span role="group" aria-label="List" className="flex gap-2">
          {(["changes", "versions"] as const).map((each) => (
            <Button
              key={each}
              aria-pressed={each === listed}
              kind={each === listed ? "primary" : "plain"}
              onClick={() => onList(each)}
            >
              {each === "changes" ? "Changes" : "Versions"}
            </Button>
          ))}
        </span>
      }
    >
      {listed === "changes" ? (
        <Loaded from={changes} lines={6}>
          {(seen) => (
            <>
              {seen.data.length === 0 ? (
                <Empty title="No changes stored">The first version is what later ones are compared with.</Empty>
              ) : (
                <Changes
                  changes={seen.data}
                  pages={names}
                  choice={{
                    isChosen: ({ from, to }) => chosen.read === null && chosen.from === from && chosen.to === to,
                    onChoose: (compared) => onChoose({ ...compared, read: null }),
                  }}
                />
              )}
              <AddressPager name="changes" next={seen.nextCursor} />
            </>
          )}
        </Loaded>
      ) : (
        <Loaded from={versions} lines={8}>
          {(seen) => (
            <>
              {seen.data.length === 0 ? (
                <Empty title="No versions stored">The first successful check creates one.</Empty>
              ) : (
                <Versions versions={seen.data} chosen={chosen} onChoose={onChoose} />
              )}
              <CursorPager
                isFirst={isFirst}
                next={seen.nextCursor}
                onFirst={() => onPage("")}
                onNext={onPage}
              />
            </>
          )}
        </Loaded>
      )}
    </Card>
  );
}
