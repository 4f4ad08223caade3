"use client";

import { useRouter } from "next/navigation";
import { PageHead } from "@/components/Card";
import { Loaded } from "@/components/States";
import { say } from "@/components/Toasts";
import { useAddress } from "@/lib/address";
import { api, ApiError } from "@/lib/api";
import { useResource } from "@/lib/resource";
import { watchPath } from "@/lib/watch";
import { WatchForm } from "../WatchForm";
import { editsOf, formOf } from "../formState";
import { NoSuchWatch, NotNamed } from "../NotFound";

export function View() {
  const router = useRouter();
  const [params] = useAddress();
  const jobId = params.get("jobId") ?? "";
  const watch = useResource(jobId || null, (signal) => api.get("/api/watches/{jobId}", { path: { jobId }, signal }));
  if (!jobId) return <NotNamed />;
  const isGone = watch.error instanceof ApiError && watch.error.status === 404;
  return (
    <>
      <PageHead title={watch.data ? `Edit ${watch.data.name}` : "Edit a watch"} />
      {isGone ? (
        <NoSuchWatch hint="It may have been removed." />
      ) : (
        <Loaded from={watch} lines={16}>
          {(found) => (
            <WatchForm
              key={found.jobId}
              isNew={false}
              start={formOf(found)}
              cancelTo={watchPath(jobId)}
              onSave={async (form, before) => {
                const edits = editsOf(form, before);
                const isChanged = Object.keys(edits).length > 0;
                if (isChanged) await api.patch("/api/watches/{jobId}", { path: { jobId }, body: edits });
                say(isChanged ? `${form.name} is changed.` : "Nothing was changed.");
                router.push(watchPath(jobId));
              }}
            />
          )}
        </Loaded>
      )}
    </>
  );
}
