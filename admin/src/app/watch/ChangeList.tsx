"use client";

import { Card } from "@/components/Card";
import { Changes } from "@/components/Changes";
import { AddressPager, cursorIn } from "@/components/Pager";
import { Empty, Loaded } from "@/components/States";
import { useAddress } from "@/lib/address";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { useWatchChanges } from "@/lib/watch";
import { useWatchNames } from "@/lib/watchNames";
import { AtomLink } from "./AtomLink";
import { loadChanges } from "./changes";

const LIMIT = 25;

/** The latest changes of all watches. */
export function ChangeList() {
  const [params] = useAddress();
  const cursor = cursorIn(params, "changes");
  const changes = useSteady(
    useResource(`changes ${cursor}`, (signal) => loadChanges({ limit: LIMIT, cursor }, signal)),
  );
  useWatchChanges(changes.reload);
  const names = useWatchNames((changes.data?.changes ?? []).map(({ jobId }) => jobId));
  return (
    <Card title="Latest changes" actions={<AtomLink href="/api/watch/feed.atom" />}>
      <Loaded from={changes} lines={26}>
        {(seen) => (
          <>
            {seen.changes.length === 0 ? (
              <Empty title="No changes yet">The first version of a page is what later ones are compared with.</Empty>
            ) : (
              <Changes changes={seen.changes} pages={seen.pages} watchNames={names} />
            )}
            <AddressPager name="changes" next={seen.nextCursor} />
          </>
        )}
      </Loaded>
    </Card>
  );
}
