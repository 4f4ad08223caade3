"use client";

import { Badge } from "@/components/Badge";
import { Card } from "@/components/Card";
import { CursorPager } from "@/components/Pager";
import { Loaded, Empty } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { bytes } from "@/lib/format";
import type { Resource } from "@/lib/resource";

export type Chosen = { from: number | null; to: number | null };

/** The versions of a page, the newest first; any two of them can be chosen. */
export function Versions({
  from: resource,
  chosen,
  isFirst,
  onChoose,
  onPage,
}: {
  from: Resource<Schema<"VersionsPage">>;
  chosen: Chosen;
  isFirst: boolean;
  onChoose: (change: { from?: number; to?: number }) => void;
  onPage: (before: string) => void;
}) {
  return (
    <Card title="Versions">
      <Loaded from={resource} lines={8}>
        {(seen) =>
          seen.data.length === 0 ? (
            <Empty title="No versions stored">The first successful check creates one.</Empty>
          ) : (
            <>
              <div className="max-h-96 overflow-y-auto px-4 sm:px-5">
                <Table label="Versions">
                  <Head
                    columns={{
                      From: "text",
                      To: "text",
                      Version: "number",
                      Time: "text",
                      Size: "number",
                      Hash: "text",
                      Kept: "text",
                    }}
                  />
                  <tbody>
                    {seen.data.map((version) => (
                      <Row key={version.version} version={version} chosen={chosen} onChoose={onChoose} />
                    ))}
                  </tbody>
                </Table>
              </div>
              <CursorPager
                isFirst={isFirst}
                next={seen.nextCursor}
                onFirst={() => onPage("")}
                onNext={onPage}
              />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

function Row({
  version: { version, createdAt, bytes: size, snapshotHash, expireAt },
  chosen,
  onChoose,
}: {
  version: Schema<"VersionResponse">;
  chosen: Chosen;
  onChoose: (change: { from?: number; to?: number }) => void;
}) {
  const isChosen = chosen.from === version || chosen.to === version;
  return (
    <tr className={isChosen ? "bg-accent-pale" : ""}>
      {(["from", "to"] as const).map((end) => (
        <Td key={end}>
          <label className="inline-flex size-6 items-center justify-center">
            <input
              type="radio"
              name={end}
              className="size-4 accent-[var(--accent)]"
              checked={chosen[end] === version}
              onChange={() => onChoose({ [end]: version })}
            />
            <span className="sr-only">
              {end === "from" ? "Compare from" : "Compare to"} version {version}
            </span>
          </label>
        </Td>
      ))}
      <Td isNumber>{version}</Td>
      <Td>
        <Time at={createdAt} />
      </Td>
      <Td isNumber>{bytes(size)}</Td>
      <Td className="font-mono text-sm">
        <span title={snapshotHash}>{snapshotHash.slice(0, 10)}</span>
      </Td>
      <Td className="whitespace-nowrap">
        {expireAt === null ? (
          <Badge tone="good">newest</Badge>
        ) : (
          <>
            until <Time at={expireAt} ago />
          </>
        )}
      </Td>
    </tr>
  );
}
