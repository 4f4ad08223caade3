"use client";

import { Badge } from "@/components/Badge";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { number } from "@/lib/format";

const LINES = 5;

export function Notifications({ notices }: { notices: Schema<"NoticeResponse">[] }) {
  return (
    <Table label="Notifications">
      <Head columns={{ Due: "text", Target: "text", "Message": "text", State: "text" }} />
      <tbody>
        {notices.map((notice) => (
          <tr key={notice.noticeId}>
            <Td>
              <Time at={notice.dueAt} />
            </Td>
            <Td className="min-w-32 wrap-anywhere">{notice.target}</Td>
            <Td className="min-w-64 text-sm">
              <Lines lines={notice.lines} />
            </Td>
            <Td className="min-w-48">
              <State notice={notice} />
            </Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

function Lines({ lines }: { lines: string[] }) {
  const list = (some: string[]) => (
    <ul className="flex flex-col gap-1">
      {some.map((line, index) => (
        <li key={index} className="wrap-anywhere">
          {line}
        </li>
      ))}
    </ul>
  );
  if (lines.length <= LINES) return list(lines);
  return (
    <>
      {list(lines.slice(0, LINES))}
      <details className="mt-1">
        <summary className="cursor-pointer text-accent">{number(lines.length - LINES)} more</summary>
        {list(lines.slice(LINES))}
      </details>
    </>
  );
}

function State({ notice }: { notice: Schema<"NoticeResponse"> }) {
  const tries = `${notice.attempts} ${notice.attempts === 1 ? "attempt" : "attempts"}`;
  return (
    <>
      {notice.sentAt !== null ? (
        <>
          <Badge tone="good">sent</Badge> <Time at={notice.sentAt} ago />
        </>
      ) : notice.givenUp ? (
        <>
          <Badge tone="bad">given up</Badge> after {tries}
        </>
      ) : (
        <>
          {notice.attempts > 0 ? <Badge tone="warn">tried again</Badge> : <Badge>waits</Badge>}
          {notice.attempts > 0 && ` after ${tries}`}
        </>
      )}
      {notice.error && <div className="text-sm text-bad wrap-anywhere">{notice.error}</div>}
    </>
  );
}
