"use client";

import { useEffect, useRef } from "react";
import { Card, PageHead } from "@/components/Card";
import { To } from "@/components/Links";
import { useList } from "@/components/List/useList";
import { PageSkeleton } from "@/components/Skeleton";
import { Empty, ErrorBox } from "@/components/States";
import { api } from "@/lib/api";
import { usePathPart } from "@/lib/address";
import { useResource } from "@/lib/resource";
import { Depth, Rate } from "../Depth";
import { purposeOf, useQueues } from "../state";
import { COLUMNS, DeadLetters } from "./DeadLetters";

export function View() {
  const name = usePathPart(1);
  const list = useList(COLUMNS);
  const cursor = list.asked.cursors.at(-1);
  const queues = useQueues();
  const queue = queues.data?.data.find((each) => each.name === name);
  const dead = queue?.dead;
  const { q } = list.asked;
  const letters = useResource(queue ? `dead ${name} ${cursor} ${q}` : null, (signal) =>
    api.get("/api/queues/{queue}/dead", { path: { queue: name }, query: { q: q || null, cursor }, signal }),
  );
  const { reload } = letters;
  const lastDead = useRef(dead);
  useEffect(() => {
    if (lastDead.current !== undefined && lastDead.current !== dead) reload();
    lastDead.current = dead;
  }, [dead, reload]);
  if (queues.data === undefined && queues.error === undefined) return <PageSkeleton />;
  return (
    <>
      <PageHead title={name}>
        <p>
          <To href="/queues">Queues</To>
        </p>
        {queue && <p>{purposeOf(name)}</p>}
      </PageHead>
      {queues.data === undefined ? (
        <ErrorBox error={queues.error} onRetry={queues.reload} />
      ) : queue === undefined ? (
        <Empty title="Queue not found">
          <p>There are {queues.data.data.map((each) => each.name).join(", ")}.</p>
        </Empty>
      ) : (
        <div className="flex flex-col gap-5">
          <Card title="Now">
            <Depth queue={queue} />
            <Rate queue={queue} />
          </Card>
          <DeadLetters key={name} queue={name} dead={queue.dead} letters={letters} list={list} />
        </div>
      )}
    </>
  );
}
