"use client";

import { useRouter } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { StatusBadge } from "@/components/Badge";
import { Button, LinkButton } from "@/components/Button";
import { Card, PageHead } from "@/components/Card";
import { Out, To } from "@/components/Links";
import { Empty, Loaded } from "@/components/States";
import { say, sayError } from "@/components/Toasts";
import { api, ApiError } from "@/lib/api";
import { useAddress } from "@/lib/address";
import { shortUrl } from "@/lib/format";
import { useRemoval } from "@/lib/removal";
import { Invalidate } from "../Invalidate";
import { RecordParts } from "./RecordParts";
import { useRecord } from "./record";
import { Source } from "./Source";

const LONGEST_TITLE = 120;

export function View() {
  const [address] = useAddress();
  const url = address.get("url") ?? "";
  if (url === "") {
    return (
      <>
        <PageHead title="Record" />
        <Empty title="The address has no URL">
          <LinkButton href="/inventory">To the inventory</LinkButton>
        </Empty>
      </>
    );
  }
  return <OneRecord key={url} url={url} />;
}

function OneRecord({ url }: { url: string }) {
  const router = useRouter();
  const removal = useRemoval();
  const known = useRecord(url, removal.isHeld);
  const [isBusy, setBusy] = useState(false);
  const asked = useRef<string | null>(null);
  const waiting = known.data?.waiting ?? null;
  const record = known.data?.record ?? null;
  const isUnknown = known.error instanceof ApiError && known.error.status === 404;

  useEffect(() => {
    if (waiting !== null || record === null || asked.current === null) return;
    if (record.processing.last_request_id !== asked.current) return;
    asked.current = null;
    say(`Fetched: ${record.status.replaceAll("_", " ").toLowerCase()}`, { isBad: record.status !== "COMPLETED" });
  }, [waiting, record]);

  const refetch = async () => {
    setBusy(true);
    try {
      asked.current = (await api.post("/metadata", { body: { url } })).request_id;
      known.reload();
      say("Submitted. The response will appear here.");
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  };

  const short = shortUrl(url);
  return (
    <>
      <PageHead
        title={short.length > LONGEST_TITLE ? `${short.slice(0, LONGEST_TITLE)}…` : short}
        actions={
          <>
            <Button onClick={refetch} isBusy={isBusy || waiting !== null} disabled={known.data === undefined}>
              Refetch
            </Button>
            <Button kind="danger" onClick={removal.ask} disabled={known.data === undefined}>
              Invalidate
            </Button>
          </>
        }
      >
        <To href="/inventory">Inventory</To>
      </PageHead>
      {isUnknown ? (
        <Empty title="This URL is not in the inventory">
          <Out url={url} />
          <Button kind="primary" onClick={refetch} isBusy={isBusy}>
            Fetch it
          </Button>
        </Empty>
      ) : (
      <Loaded from={known} lines={16}>
        {() => (
          <div className="flex flex-col gap-5">
            {waiting && (
              <Card>
                <div role="status" className="flex flex-wrap items-center gap-3">
                  <StatusBadge status={waiting.status} />
                  <span>
                    {record
                      ? "Being fetched again. Below is the previous response."
                      : "This URL has not been fetched yet. The response will appear here."}
                  </span>
                </div>
                {!record && (
                  <p className="mt-3">
                    <Out url={waiting.url} />
                  </p>
                )}
              </Card>
            )}
            {record && <RecordParts record={record} />}
            {record && <Source record={record} />}
          </div>
        )}
      </Loaded>
      )}
      {removal.isAsking && (
        <Invalidate
          url={url}
          onClose={removal.close}
          onDone={() => {
            removal.done();
            router.push("/inventory");
          }}
        />
      )}
    </>
  );
}
