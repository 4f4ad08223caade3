"use client";

import { useMemo, useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Field, Textarea } from "@/components/Form";
import { say } from "@/components/Toasts";
import { api, messageOf } from "@/lib/api";
import { counted, number } from "@/lib/format";
import { useUnsaved } from "@/lib/unsaved";
import { Submitted, type Outcome } from "./Submitted";

const MOST = 10_000;
const NO_ROOM = "the queue is full"; // as the API says it

export function Submit({ changes }: { changes: number }) {
  const [text, setText] = useState("");
  const [kept, setKept] = useState(""); // refused before, so it is not offered again
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [round, setRound] = useState(0);
  const urls = useMemo(() => linesOf(text), [text]);
  useUnsaved(text, kept);

  const submit = async (given: string[], before?: Outcome) => {
    setBusy(true);
    setError(null);
    try {
      const answers = await api.post("/metadata/batch", { body: given });
      const accepted = answers.filter((each) => each.accepted).map((each) => each.url);
      const turnedAway = answers.filter((each) => !each.accepted);
      const refused = turnedAway.filter((each) => each.error !== NO_ROOM);
      setOutcome({
        accepted: [...(before?.accepted ?? []), ...accepted],
        refused: [
          ...(before?.refused ?? []),
          ...refused.map((each) => ({ url: each.url, reason: each.error ?? "refused" })),
        ],
        noRoom: turnedAway.filter((each) => each.error === NO_ROOM).map((each) => each.url),
      });
      if (!before) {
        const left = refused.map(({ url }) => url).join("\n"); // to be put right
        setText(left);
        setKept(left);
        setRound(round + 1);
      }
      const rest = turnedAway.length > 0 ? `, ${number(turnedAway.length)} not` : "";
      say(`${counted(accepted.length, "URL")} accepted${rest}`, { isBad: accepted.length === 0 });
    } catch (failure) {
      setError(messageOf(failure));
    } finally {
      setBusy(false);
    }
  };

  return (
    <Card title="Submit URLs">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (isBusy) return; // Ctrl+Enter does not ask the button
          const count = urls.length;
          if (count === 0) setError("Enter at least one URL.");
          else if (count > MOST) setError(`Up to ${number(MOST)} URLs at a time; these are ${number(count)}.`);
          else void submit(urls);
        }}
      >
        <Field
          label="URLs, one per line"
          hint={
            urls.length > 1
              ? `${counted(urls.length, "URL")} of up to ${number(MOST)}`
              : `Up to ${number(MOST)}. Known URLs are fetched again. Without a scheme, https:// is added.`
          }
          error={error}
        >
          <Textarea
            rows={3}
            spellCheck={false}
            autoCapitalize="off"
            placeholder="https://example.org/"
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setError(null);
            }}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
            }}
          />
        </Field>
        <div>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Submit
          </Button>
        </div>
      </form>
      {outcome && (
        <Submitted
          key={round}
          outcome={outcome}
          changes={changes}
          isBusy={isBusy}
          onAgain={() => void submit(outcome.noRoom, outcome)}
          onClose={() => setOutcome(null)}
        />
      )}
    </Card>
  );
}

// localhost:8080 and example.com:8080/ are hosts; mailto:a@example.com is not.
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\/|^[a-z][a-z0-9+-]*:(?!\d)/i;

/** Each once, with https:// where no scheme is given. */
function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter(Boolean).map((line) => (SCHEME.test(line) ? line : `https://${line}`)))];
}
