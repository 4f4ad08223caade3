"use client";

import { useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Field, Input } from "@/components/Form";
import { currentKey, keepKey } from "@/lib/key";

const KEY = /^[\x21-\x7e]+$/; // anything else can't be sent as a header

/** Shown instead of any page while the API asks for a key. */
export function KeyForm() {
  const [key, setKey] = useState("");
  const [error, setError] = useState<string | null>(null);
  return (
    <Card className="mx-auto max-w-md">
      <h1>API key required</h1>
      <p className="mt-2 text-soft">
        {currentKey() ? "This API key is not valid." : "This Webloom requires an API key."} Ask
        the person who runs it: keys are in its setting WEBLOOM_API_KEYS, and <code>webloom new-key</code> makes more.
        The key is kept until you close this tab.
      </p>
      <form
        className="mt-4 flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (KEY.test(key.trim())) keepKey(key.trim());
          else setError("A key has only letters, digits and signs of plain ASCII, and no spaces. Copy it again.");
        }}
      >
        <Field label="API key" error={error}>
          <Input
            type="password"
            autoComplete="current-password"
            required
            value={key}
            onChange={(event) => {
              setKey(event.target.value);
              setError(null);
            }}
          />
        </Field>
        <Button type="submit" kind="primary">
          Sign in
        </Button>
      </form>
    </Card>
  );
}
