"use client";

import { useState } from "react";
import { LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { Loaded } from "@/components/States";
import { api, type Schema } from "@/lib/api";
import { waitingWords } from "@/lib/format";
import { useInboxCounts } from "@/lib/inbox";
import { useEvents } from "@/lib/live";
import { useResource } from "@/lib/resource";
import { LatestChanges } from "./LatestChanges";
import { PipelineCard } from "./PipelineCard";
import { RunningImports } from "./RunningImports";
import { TryIt } from "./TryIt";
import { Troubles } from "./Troubles";

export function View() {
  const latest = useResource("overview", (signal) => api.get("/api/overview", { signal }));
  useEvents("/api/live?topics=overview", ({ event, data }) => {
    if (event === "overview") latest.show(data as Schema<"Overview">);
  });
  return (
    <>
      <PageHead title="Overview">What Webloom is doing now</PageHead>
      <Loaded from={latest} lines={12}>
        {(overview) => <Overview overview={overview} />}
      </Loaded>
    </>
  );
}

function Overview({ overview }: { overview: Schema<"Overview"> }) {
  const isNew = overview.inventory.stored === 0 && overview.feeds === 0 && overview.watches === 0;
  const [wasNew] = useState(isNew); // so that what is being typed stays where it is
  return (
    <div className="flex flex-col gap-5">
      {wasNew && <TryIt isFirst={isNew} />}
      {overview.troubles.length > 0 && <Troubles troubles={overview.troubles} />}
      <div className="grid gap-5 lg:grid-cols-3">
        <PipelineCard name="Inventory" href="/inventory" item="record" of="URLs" pipeline={overview.inventory} />
        <PipelineCard name="Imports" href="/import-history" item="posting" of="feed items" pipeline={overview.imports} />
        <PipelineCard name="Watch" href="/watch" item="page" of="pages" pipeline={overview.watch} />
      </div>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <div className="flex flex-col gap-5">
          <Card title="Running imports">
            <RunningImports runs={overview.running} feeds={overview.feeds} />
          </Card>
          {!wasNew && <TryIt />}
        </div>
        <Card title="Latest changes" actions={overview.changes.length > 0 && <ChangeLinks />}>
          <LatestChanges changes={overview.changes} watches={overview.watches} />
        </Card>
      </div>
    </div>
  );
}

function ChangeLinks() {
  const counts = useInboxCounts();
  return (
    <>
      <LinkButton href="/inbox">
        Inbox
        <span className="min-w-18 text-right tabular-nums">
          {counts && `${waitingWords(counts.unread, counts.unreadIsExact)} unread`}
        </span>
      </LinkButton>
      <LinkButton href="/watch?show=changes">All changes</LinkButton>
    </>
  );
}
