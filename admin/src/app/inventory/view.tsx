"use client";

import { useState } from "react";
import { PageHead } from "@/components/Card";
import { useChanges } from "@/lib/changes";
import { Counts } from "./Counts";
import { Records } from "./Records";
import { Submit } from "./Submit";

export function View() {
  const [changes, setChanges] = useState(0);
  useChanges("inventory", () => setChanges((before) => before + 1));
  return (
    <>
      <PageHead title="Inventory">The response of each URL: status, headers, cookies, redirects and source.</PageHead>
      <div className="flex flex-col gap-5">
        <Submit changes={changes} />
        <Counts changes={changes} />
        <Records changes={changes} />
      </div>
    </>
  );
}
