"use client";

import { useState } from "react";
import { Button, LinkButton } from "@/components/Button";
import { PageHead } from "@/components/Card";
import { ImportPages } from "@/components/ImportList/ImportPages";
import { Tabs } from "@/components/Tabs";
import { useAddress } from "@/lib/address";
import { useWatchChanges } from "@/lib/watch";
import { ChangeList } from "./ChangeList";
import { PageList } from "./PageList";
import { WatchList } from "./WatchList";

const TABS: [string, string][] = [
  ["/watch", "Watches"],
  ["/watch?show=pages", "Pages"],
  ["/watch?show=changes", "Changes"],
];

export function View() {
  const [params] = useAddress();
  const [isImporting, setImporting] = useState(false);
  const show = params.get("show");
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
      <Tabs label="Watch" tabs={TABS} here={show === "pages" ? "Pages" : show === "changes" ? "Changes" : "Watches"} />
      {show === "pages" ? <AllPages /> : show === "changes" ? <ChangeList /> : <WatchList />}
      {isImporting && <ImportPages onClose={() => setImporting(false)} />}
    </>
  );
}

function AllPages() {
  const [changes, setChanges] = useState(0);
  useWatchChanges(() => setChanges((before) => before + 1));
  return <PageList changes={changes} />;
}
