import { LinkButton } from "@/components/Button";
import { Changes, pageKey } from "@/components/Changes";
import { Empty } from "@/components/States";
import type { Schema } from "@/lib/api";
import { useResource } from "@/lib/resource";
import { useSteady } from "@/lib/steady";
import { loadPageNames } from "./watch/changes";

const MOST = 6;
const NO_NAMES = new Map<string, never>();

export function LatestChanges({ changes, watches }: { changes: Schema<"ChangeResponse">[]; watches: number }) {
  const newest = changes.at(0);
  const names = useSteady(
    useResource(newest ? `names ${newest.timestamp} ${pageKey(newest)}` : null, (signal) => loadPageNames({}, signal)),
  );
  if (newest) return <Changes changes={changes.slice(0, MOST)} pages={names.data ?? NO_NAMES} />;
  return watches === 0 ? (
    <Empty title="No watched pages yet">
      <LinkButton href="/watch/new">Watch a page</LinkButton>
    </Empty>
  ) : (
    <Empty title="Nothing has changed yet">
      <LinkButton href="/watch">Watches</LinkButton>
    </Empty>
  );
}
