"use client";

import { useRouter } from "next/navigation";
import { PageHead } from "@/components/Card";
import { To } from "@/components/Links";
import { say } from "@/components/Toasts";
import { useAddress } from "@/lib/address";
import { api } from "@/lib/api";
import { importNow } from "../FeedActions";
import { FeedForm } from "../FeedForm";
import { newFeedOf, settingsOf } from "../settings";

/** `?url=` fills in the URL. */
export function View() {
  const [address] = useAddress();
  const router = useRouter();
  return (
    <>
      <PageHead title="Add a feed">
        <To href="/feeds">All feeds</To>
      </PageHead>
      <FeedForm
        first={settingsOf(null, address.get("url") ?? "")}
        isNew
        onSave={async (settings, _before, isImported) => {
          const feed = await api.post("/api/feeds", { body: newFeedOf(settings) });
          say(`${feed.name} is added.`);
          if (isImported) await importNow(feed);
          router.push(`/feeds/${feed.feedId}`);
        }}
      />
    </>
  );
}
