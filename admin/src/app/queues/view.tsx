"use client";

import { Badge } from "@/components/Badge";
import { LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { To } from "@/components/Links";
import { Skeleton } from "@/components/Skeleton";
import { ErrorBox } from "@/components/States";
import { counted } from "@/lib/format";
import { Depth, Rate } from "./Depth";
import { purposeOf, useQueues, type QueueState } from "./state";

export function View() {
  const queues = useQueues();
  return (
    <>
      <PageHead title="Queues">Messages that are waiting, being processed, or dead.</PageHead>
      {queues.data ? (
        <div className="grid gap-5 xl:grid-cols-2">
          {queues.data.data.map((queue) => (
            <Queue key={queue.name} queue={queue} />
          ))}
        </div>
      ) : queues.error !== undefined ? (
        <ErrorBox error={queues.error} onRetry={queues.reload} />
      ) : (
        <div className="grid gap-5 xl:grid-cols-2">
          {Array.from({ length: 4 }, (_, index) => (
            <Card key={index}>
              <Skeleton lines={9} />
            </Card>
          ))}
        </div>
      )}
    </>
  );
}

function Queue({ queue }: { queue: QueueState }) {
  const address = `/queues/${encodeURIComponent(queue.name)}`;
  return (
    <Card
      title={
        <span className="flex min-h-9 items-center">
          <To href={address}>{queue.name}</To>
        </span>
      }
      actions={
        queue.dead ? (
          <LinkButton href={address} kind="primary">
            See {counted(queue.dead, "dead letter")}
          </LinkButton>
        ) : (
          queue.ready !== null && queue.ready >= queue.limit && <Badge tone="bad">full</Badge>
        )
      }
    >
      <p className="-mt-2 mb-4 text-soft">{purposeOf(queue.name)}</p>
      <Depth queue={queue} />
      <Rate queue={queue} />
    </Card>
  );
}
