"use client";

import { Badge } from "@/components/Badge";
import { Head, Table, Td } from "@/components/Table";
import { Time } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { number } from "@/lib/format";

const LINES = 5;

export function Notifications({ notifications }: { notifications: Schema<"NotificationResponse">[] }) {
  return (
    <Table label="Notifications">
      <Head columns={{ Due: "text", Target: "text", "Message": "text", State: "text" }} />
      <tbody>
        {notifications.map((notification) => (
          <tr key={notification.noticeId}>
            <Td>
              <Time at={notification.dueAt} />
            </Td>
            <Td className="min-w-32 wrap-anywhere">{notification.target}</Td>
            <Td className="min-w-64 text-sm">
              <Lines lines={notification.lines} />
            </Td>
            <Td className="min-w-48">
              <State notification={notification} />
            </Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

/** The latest notification of each target that could not be sent. */
export function failing(notifications: Schema<"NotificationResponse">[]): Schema<"NotificationResponse">[] {
  const latest = notifications.filter(({ target }, index) => notifications.findIndex((each) => each.target === target) === index);
  return latest.filter(({ sentAt, error }) => sentAt === null && error !== null);
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

function State({ notification }: { notification: Schema<"NotificationResponse"> }) {
  const tries = `${notification.attempts} ${notification.attempts === 1 ? "attempt" : "attempts"}`;
  return (
    <>
      {notification.sentAt !== null ? (
        <>
          <Badge tone="good">sent</Badge> <Time at={notification.sentAt} ago />
        </>
      ) : notification.givenUp ? (
        <>
          <Badge tone="bad">given up</Badge> after {tries}
        </>
      ) : (
        <>
          {notification.attempts > 0 ? <Badge tone="warn">tried again</Badge> : <Badge>waits</Badge>}
          {notification.attempts > 0 && ` after ${tries}`}
        </>
      )}
      {notification.error && <div className="text-sm text-bad wrap-anywhere">{notification.error}</div>}
    </>
  );
}
