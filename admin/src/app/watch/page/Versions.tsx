"use client";

import { Badge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { CHOSEN } from "@/components/Changes";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { bytes } from "@/lib/format";
import { before, type Choice } from "./choice";

/** The versions of a page, the newest first; each can be read, or compared with the one before. */
export function Versions({
  versions,
  chosen,
  onChoose,
}: {
  versions: Schema<"VersionResponse">[];
  chosen: Choice;
  onChoose: (change: Partial<Choice>) => void;
}) {
  const isShown = (version: number) =>
    chosen.read !== null ? chosen.read === version : chosen.from === version || chosen.to === version;
  return (
    <ol aria-label="Versions" className="divide-y divide-line">
      {versions.map(({ version, createdAt, bytes: size, snapshotHash, expireAt }) => {
        const older = before(versions, version);
        return (
          <li
            key={version}
            className={`py-2 ${CHOSEN[isShown(version) ? "yes" : "no"]}`}
          >
            <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
              <span className="flex flex-wrap items-center gap-x-2">
                <span className="font-medium">Version {version}</span>
                {expireAt === null && <Badge tone="good">newest</Badge>}
              </span>
              <span className="flex gap-2">
                <Button onClick={() => onChoose({ read: version })} aria-label={`Read version ${version}`}>
                  Read
                </Button>
                <Button
                  disabled={older === null}
                  onClick={() => onChoose({ from: older, to: version, read: null })}
                  aria-label={`Diff of version ${version}`}
                >
                  Diff
                </Button>
              </span>
            </div>
            <p className="text-sm text-soft">
              <Time at={createdAt} />, {bytes(size)}, <code title={snapshotHash}>{snapshotHash.slice(0, 10)}</code>
              {expireAt !== null && (
                <>
                  , expires <Time at={expireAt} ago />
                </>
              )}
            </p>
          </li>
        );
      })}
    </ol>
  );
}
