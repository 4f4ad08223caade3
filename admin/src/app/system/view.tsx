"use client";

import { PageHead } from "@/components/Card";
import { api } from "@/lib/api";
import { useResource } from "@/lib/resource";
import { Health } from "./Health";
import { Installation } from "./Installation";
import { Settings } from "./Settings";
import { Storage } from "./Storage";

export function View() {
  const system = useResource("system", (signal) => api.get("/api/system", { signal }), { everyMs: 60_000 });
  return (
    <>
      <PageHead title="System">Health, storage and settings of this installation.</PageHead>
      <div className="flex flex-col gap-5">
        <Health />
        <div className="grid gap-5 xl:grid-cols-2">
          <Storage />
          <Installation system={system} />
        </div>
        <Settings system={system} />
      </div>
    </>
  );
}
