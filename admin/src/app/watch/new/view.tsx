"use client";

import { useRouter } from "next/navigation";
import { PageHead } from "@/components/Card";
import { say } from "@/components/Toasts";
import { useAddress } from "@/lib/address";
import { api } from "@/lib/api";
import { counted } from "@/lib/format";
import { watchPath } from "@/lib/watch";
import { WatchForm } from "../WatchForm";
import { bodyOf, emptyForm } from "../formState";

export function View() {
  const router = useRouter();
  const [params] = useAddress();
  return (
    <>
      <PageHead title="New watch">The first check is due at once, the others on the schedule.</PageHead>
      <WatchForm
        isNew
        start={emptyForm(params.get("url") ?? "")}
        cancelTo="/watch"
        onSave={async (form) => {
          const watch = await api.post("/api/watches", { body: bodyOf(form) });
          say(`${watch.name}: ${counted(watch.urls.length, "page")} watched.`);
          router.push(watchPath(watch.jobId));
        }}
      />
    </>
  );
}
