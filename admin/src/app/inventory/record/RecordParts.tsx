"use client";

import { Badge, StatusBadge } from "@/components/Badge";
import { Card } from "@/components/Card";
import { Out } from "@/components/Links";
import { Facts, Head, Table, Td } from "@/components/Table";
import { Time, useNow } from "@/components/Time";
import type { Schema } from "@/lib/api";
import { counted, number } from "@/lib/format";
import { detailsOf, sizeOf, type Details } from "../details";
import { Timings } from "./Timings";

type Record = Schema<"RecordResponse">;
const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** All that is known of a URL but the source. */
export function RecordParts({ record }: { record: Record }) {
  const details = detailsOf(record);
  const { headers, cookies } = record.metadata;
  return (
    <>
      {record.processing.error_message && (
        <div className="rounded-lg border border-bad bg-bad-pale p-4 text-bad">
          <p className="font-medium">The last attempt failed</p>
          <p className="mt-1 wrap-anywhere">{record.processing.error_message}</p>
        </div>
      )}
      <Card title="Summary">
        <Summary record={record} details={details} />
      </Card>
      <div className="grid gap-5 xl:grid-cols-2">
        <Card title="Redirects">
          <Chain record={record} chain={details.redirect_chain ?? []} />
        </Card>
        <Card title="Timings">
          <Timings timings={details.timings_ms} />
        </Card>
        <Card title="Certificate">
          <Certificate tls={details.tls} finalUrl={record.metadata.final_url} />
        </Card>
        <Card title="Processing">
          <Processing record={record} />
        </Card>
      </div>
      <Card title={`Headers (${number(Object.keys(headers ?? {}).length)})`}>
        <Pairs pairs={headers} label="Headers" none="No headers were received." />
      </Card>
      <Card title={`Cookies (${number(Object.keys(cookies ?? {}).length)})`}>
        <Pairs pairs={cookies} label="Cookies" none="No cookies were set." />
      </Card>
    </>
  );
}

function Summary({ record, details }: { record: Record; details: Details }) {
  const { metadata } = record;
  return (
    <Facts
      items={[
        ["State", <StatusBadge key="state" status={record.status} />],
        ["URL", <Out key="url" url={record.url} />],
        ["Final URL", metadata.final_url ? <Out key="final" url={metadata.final_url} /> : "–"],
        ["HTTP status", metadata.status_code ?? "–"],
        ["HTTP version", details.http_version ?? "–"],
        ["Type", details.content_type ?? "–"],
        ["Size", sizeOf(details)],
        ["Hash", <code key="hash" className="text-sm">{details.content_hash ?? "–"}</code>],
        ["Known since", <Time key="since" at={record.created_at} />],
        [
          "Updated",
          <span key="updated">
            <Time at={record.updated_at} ago />
            {record.stale && ": older than the cache time, so a refresh is under way"}
          </span>,
        ],
      ]}
    />
  );
}

function Chain({ record, chain }: { record: Record; chain: NonNullable<Details["redirect_chain"]> }) {
  const { final_url, status_code } = record.metadata;
  if (!final_url) return <p className="text-soft">No response received.</p>;
  return (
    <ol className="flex flex-col gap-2">
      {[...chain, { url: final_url, status_code: status_code ?? 0 }].map(({ url, status_code: code }, index) => (
        <li key={index} className="flex items-start gap-3">
          <Badge tone={code >= 400 ? "bad" : index < chain.length ? "busy" : "good"}>{code}</Badge>
          <span className="min-w-0 wrap-anywhere">
            <Out url={url} />
          </span>
        </li>
      ))}
    </ol>
  );
}

function Certificate({ tls, finalUrl }: { tls: Details["tls"]; finalUrl: string | null | undefined }) {
  if (!finalUrl) return <p className="text-soft">No response received.</p>;
  if (!tls) return <p className="text-soft">None: the response came over plain HTTP.</p>;
  const expires = tls.certificate_expires_at;
  return (
    <Facts
      items={[
        ["TLS version", tls.version ?? "–"],
        ["Cipher", tls.cipher ?? "–"],
        [
          "Certificate expires",
          <span key="expires" className="flex flex-wrap items-center gap-2">
            <Time at={expires} />
            {expires && <Left expires={expires} />}
          </span>,
        ],
      ]}
    />
  );
}

function Left({ expires }: { expires: string }) {
  const days = Math.floor((new Date(expires).getTime() - useNow()) / DAY_MS);
  if (days < 0) return <Badge tone="bad">expired</Badge>;
  return <Badge tone={days < SOON_DAYS ? "warn" : "good"}>{counted(days, "day")} left</Badge>;
}

function Processing({ record }: { record: Record }) {
  const { attempt_number, retry_count, last_attempt_at, last_request_id } = record.processing;
  return (
    <Facts
      items={[
        ["Attempts", number(attempt_number ?? 0)],
        ["Failed, will be retried", number(retry_count ?? 0)],
        ["Last attempt", <Time key="last" at={last_attempt_at} />],
        ["Request", <code key="request" className="text-sm">{last_request_id ?? "–"}</code>],
      ]}
    />
  );
}

function Pairs({
  pairs,
  label,
  none,
}: {
  pairs: { [name: string]: string } | null | undefined;
  label: string;
  none: string;
}) {
  const entries = Object.entries(pairs ?? {});
  if (entries.length === 0) return <p className="text-soft">{none}</p>;
  return (
    <Table label={label}>
      <Head columns={{ Name: "text", Value: "text" }} />
      <tbody>
        {entries.map(([name, value]) => (
          <tr key={name}>
            <Td className="max-w-64 min-w-40 font-medium wrap-anywhere">{name}</Td>
            <Td className="wrap-anywhere">
              <code className="text-sm whitespace-pre-wrap">{value}</code>
            </Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
