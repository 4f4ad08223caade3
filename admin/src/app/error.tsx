"use client";

import { Button } from "@/components/Button";
import { Card } from "@/components/Card";

export default function Failed({ error, reset }: { error: Error; reset: () => void }) {
  return (
    <Card>
      <h1>Something went wrong</h1>
      <p className="mt-2 text-soft">{error.message}</p>
      <div className="mt-4">
        <Button onClick={reset}>Try again</Button>
      </div>
    </Card>
  );
}
