"use client";

import { PageHead } from "@/components/Card";
import { PageSkeleton } from "@/components/Skeleton";
import { api } from "@/lib/api";
import { useResource } from "@/lib/resource";
import { useSettled } from "@/lib/settled";
import { Backup } from "./Backup";
import { Health, useHealth } from "./Health";
import { Installation } from "./Installation";
import { Logs } from "./Logs";
import { Settings } from "./Settings";
import { Storage } from "./Storage";

export function View() {
  const system = useResource("system", (signal) => api.get("/api/system", { signal }), { everyMs: 60_000 });
  const health = useHealth();
  if (!useSettled([health])) return <PageSkeleton />;
  return (
    <>
      <PageHead title="System">Health, storage, backup, logs and settings of this installation.</PageHead>
      <div className="flex flex-col gap-5">
        <Health health={health} />
        <div className="grid gap-5 xl:grid-cols-2">
          <Storage />
          <Installation system={system} />
        </div>
        <Backup />
        <Logs />
        <Settings system={system} />
      </div>
    </>
  );
}
