"use client";

import { useEffect, useRef } from "react";
import { Card, PageHead } from "@/components/Card";
import { To } from "@/components/Links";
import { Skeleton } from "@/components/Skeleton";
import { Empty, ErrorBox } from "@/components/States";
import { api } from "@/lib/api";
import { useAddress, usePathPart } from "@/lib/address";
import { useResource } from "@/lib/resource";
import { Depth, Rate } from "../Depth";
import { purposeOf, useQueues } from "../state";
import { DeadLetters } from "./DeadLetters";

export function View() {
  const name = usePathPart(1);
  const [address, change] = useAddress();
  const cursor = address.get("cursor");
  const queues = useQueues();
  const queue = queues.data?.data.find((each) => each.name === name);
  const dead = queue?.dead;
  const letters = useResource(queue ? `dead ${name} ${cursor}` : null, (signal) =>
    api.get("/api/queues/{queue}/dead", { path: { queue: name }, query: { cursor }, signal }),
  );
  const { reload } = letters;
  const lastDead = useRef(dead);
  useEffect(() => {
    if (lastDead.current !== undefined && lastDead.current !== dead) reload();
    lastDead.current = dead;
  }, [dead, reload]);
  const isUnknown = queues.data !== undefined && queue === undefined;
  return (
    <>
      <PageHead title={name}>
        <p>
          <To href="/queues">Queues</To>
        </p>
        {queue && <p>{purposeOf(name)}</p>}
      </PageHead>
      {isUnknown ? (
        <Empty title="Queue not found">
          <p>There are {queues.data?.data.map((each) => each.name).join(", ")}.</p>
        </Empty>
      ) : queues.data === undefined && queues.error !== undefined ? (
        <ErrorBox error={queues.error} onRetry={queues.reload} />
      ) : (
        <div className="flex flex-col gap-5">
          <Card title="Now">
            {queue ? (
              <>
                <Depth queue={queue} />
                <Rate queue={queue} />
              </>
            ) : (
              <Skeleton lines={7} />
            )}
          </Card>
          <DeadLetters
            key={`${name} ${cursor}`}
            queue={name}
            dead={dead ?? null}
            letters={letters}
            isFirst={!cursor}
            onPage={(next) => change({ cursor: next })}
          />
        </div>
      )}
    </>
  );
}
