"use client";

import { AddAddress } from "@/components/AddAddress";
import { Card } from "@/components/Card";

/** One address, and what Webloom can do with it. */
export function TryIt({ isFirst = false }: { isFirst?: boolean }) {
  return (
    <Card title={isFirst ? "Nothing here yet. Try it" : "Add something"}>
      {isFirst && (
        <p className="mb-4 max-w-prose text-soft">
          Give Webloom an address. It says what is there, and can import it every hour, if it is a feed; watch it
          and store every version, change and price; or fetch it once and store the response.
        </p>
      )}
      <AddAddress />
    </Card>
  );
}
