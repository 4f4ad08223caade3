"use client";

import { Button, LinkButton } from "@/components/Button";
import { Card } from "@/components/Card";
import { saveText } from "@/lib/download";
import { Loaded } from "@/components/States";
import { Facts } from "@/components/Table";
import { Time } from "@/components/Time";
import { sayError } from "@/components/Toasts";
import { send, type Schema } from "@/lib/api";
import { IS_API_ELSEWHERE } from "@/lib/config";
import { bytes } from "@/lib/format";
import { currentKey } from "@/lib/key";
import type { Resource } from "@/lib/resource";

export function Installation({ system }: { system: Resource<Schema<"SystemResponse">> }) {
  return (
    <Card title="This installation">
      <Loaded from={system} lines={7}>
        {(found) => (
          <Facts
            items={[
              ["Webloom", found.version],
              ["Python", found.python],
              ["Machine", found.host],
              ["Started", <Time key="started" at={found.startedAt} />],
              ["Database files", found.databaseBytes === null ? "not on this machine" : `${bytes(found.databaseBytes)}, with the journal and freed room`],
              ["Disk free", found.diskFree === null ? "no data on this machine" : bytes(found.diskFree)],
            ]}
          />
        )}
      </Loaded>
      <div className="mt-5 flex flex-wrap gap-2">
        <ApiFile address="/metrics" name="metrics.txt">
          Metrics for Prometheus
        </ApiFile>
        <ApiFile address="/openapi.json" name="openapi.json">
          OpenAPI document
        </ApiFile>
      </div>
    </Card>
  );
}

/** A link; where a key is wanted, which a link can't carry, or the API is elsewhere, a button that saves it. */
function ApiFile({ address, name, children }: { address: string; name: string; children: string }) {
  if (!currentKey() && !IS_API_ELSEWHERE) {
    return (
      <LinkButton href={address} plain>
        {children}
      </LinkButton>
    );
  }
  const save = async () => saveText(name, await (await send(address)).text());
  return <Button onClick={() => save().catch(sayError)}>{children}</Button>;
}
