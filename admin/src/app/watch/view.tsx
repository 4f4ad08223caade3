"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { Changes } from "@/components/Changes";
import { AddressPager } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import { useAddress } from "@/lib/address";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { useWatchChanges } from "@/lib/watch";
import { useWatchNames } from "@/lib/watchNames";
import { AtomLink } from "./AtomLink";
import { loadChanges } from "./changes";
import { ImportDialog } from "./ImportDialog";
import { loadPages, NoPages, PageSearch, PagesTable } from "./PagesTable";
import { loadWatches, Watches } from "./Watches";

const PAGES = 25;
const CHANGES = 8;

export function View() {
  const [params, change] = useAddress();
  const [isImporting, setImporting] = useState(false);
  const of = (name: string) => params.get(name) ?? "";
  const [watchesFrom, pagesFrom, changesFrom] = [of("watches"), of("pages"), of("changes")];
  const search = { q: of("q"), type: of("type"), outcome: of("outcome") };

  const watches = useSteady(
    useResource(`watches ${watchesFrom}`, (signal) => loadWatches(watchesFrom || null, signal)),
  );
  const changes = useSteady(
    useResource(`changes ${changesFrom}`, (signal) =>
      loadChanges({ limit: CHANGES, cursor: changesFrom || undefined }, signal),
    ),
  );
  const query = {
    q: search.q || undefined,
    type: search.type || undefined,
    outcome: (search.outcome || undefined) as "changed" | "unchanged" | "failed" | undefined,
    limit: PAGES,
    cursor: pagesFrom || undefined,
  };
  const pages = useSteady(
    useResource(`pages ${JSON.stringify(query)}`, (signal) => loadPages(query, signal)),
  );
  useWatchChanges(() => {
    watches.reload();
    changes.reload();
    pages.reload();
  });
  const shown = [...(changes.data?.changes ?? []), ...(pages.data?.data ?? [])];
  const names = useWatchNames(
    watches.data?.watches,
    shown.map(({ jobId }) => jobId),
  );
  const isSearched = Boolean(search.q || search.type || search.outcome);

  return (
    <>
      <PageHead
        title="Watch"
        actions={
          <>
            <Button onClick={() => setImporting(true)}>Import a list</Button>
            <LinkButton href="/watch/new" kind="primary">
              Add a watch
            </LinkButton>
          </>
        }
      >
        Pages checked on a schedule: their changes and prices.
      </PageHead>
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Card title="Watches">
          <Loaded from={watches} lines={8}>
            {(seen) => (
              <>
                <Watches seen={seen} onChange={watches.reload} />
                <AddressPager name="watches" next={seen.nextCursor} />
              </>
            )}
          </Loaded>
        </Card>
        <Card title="Latest changes" actions={<AtomLink href="/api/watch/feed.atom" />}>
          <Loaded from={changes} lines={26}>
            {(seen) => (
              <>
                {seen.changes.length === 0 ? (
                  <Empty title="No changes yet">
                    The first version of a page is what later ones are compared with.
                  </Empty>
                ) : (
                  <Changes changes={seen.changes} pages={seen.pages} watchNames={names} />
                )}
                <AddressPager name="changes" next={seen.nextCursor} />
              </>
            )}
          </Loaded>
        </Card>
      </div>
      <Card title="Pages" className="mt-6">
        <PageSearch search={search} onSearch={(given) => change({ ...given, pages: "" }, "replace")} />
        <Loaded from={pages} lines={10}>
          {(found) => (
            <>
              {found.data.length === 0 ? (
                <NoPages isSearched={isSearched} hasMore={found.nextCursor !== null} />
              ) : (
                <PagesTable pages={found.data} watchNames={names} />
              )}
              <AddressPager name="pages" next={found.nextCursor} />
            </>
          )}
        </Loaded>
      </Card>
      {isImporting && <ImportDialog onClose={() => setImporting(false)} onDone={watches.reload} />}
    </>
  );
}
