"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { PageHead } from "@/components/Card";
import { ImportFeeds } from "@/components/ImportList/ImportFeeds";
import { Empty } from "@/components/States";
import { importNow, useBusy } from "./FeedActions";
import { FeedList } from "./FeedList";
import { ExportOpml } from "./ExportOpml";

export function View() {
  const [isImporting, setImporting] = useState(false);
  const [imports, setImports] = useState(0); // of OPML: each has added feeds
  const [busy, act] = useBusy();
  return (
    <>
      <PageHead
        title="Feeds"
        actions={
          <>
            <Button isBusy={busy !== null} onClick={() => act("all", () => importNow())}>
              Import all now
            </Button>
            <Button onClick={() => setImporting(true)}>Import OPML</Button>
            <ExportOpml />
            <LinkButton href="/feeds/new" kind="primary">
              Add feed
            </LinkButton>
          </>
        }
      >
        Where job postings come from, and when each feed is imported.
      </PageHead>
      <FeedList
        key={imports}
        empty={
          <Empty title="No feeds yet">
            <p>
              Add the URL of a job feed: RSS, Atom, JSON Feed, or the XML of a job board. You can preview it before you
              add it.
            </p>
            <div className="flex flex-wrap justify-center gap-2">
              <LinkButton href="/feeds/new" kind="primary">
                Add a feed
              </LinkButton>
              <Button onClick={() => setImporting(true)}>Import a list (OPML)</Button>
            </div>
          </Empty>
        }
      />
      {isImporting && <ImportFeeds onClose={() => setImporting(false)} onImported={() => setImports(imports + 1)} />}
    </>
  );
}
