"use client";

import type { ReactNode } from "react";
import { Facts } from "@/components/Table";
import { Time } from "@/components/Time";
import { counted } from "@/lib/format";
import { metricWords, price, scheduleWords, type Watch } from "@/lib/watch";

/** A watch's settings and its totals. */
export function Settings({ watch }: { watch: Watch }) {
  return <Facts items={watch.external ? externalFacts(watch) : facts(watch)} />;
}

/** Another program checks its pages: there is nothing to decide about that. */
function externalFacts(watch: Watch): [string, ReactNode][] {
  return [
    ["Pages", "checked by another program, which sends events"],
    ["Totals", metricWords(watch)],
    ["Targets", <Sentences key="targets" sentences={targetWords(watch)} none="none" />],
    ["First event", <Time key="added" at={watch.createdAt} />],
  ];
}

function facts(watch: Watch): [string, ReactNode][] {
  return [
    [
      "Pages",
      counted(watch.urls.length, "page") + (watch.acceptsEvents ? "; other programs may send events for them" : ""),
    ],
    ["Schedule", `${scheduleWords(watch.schedule)}${watch.enabled ? "" : " (paused)"}`],
    ["Next run", watch.enabled ? <Time at={watch.nextRunAt} ago /> : "on demand"],
    ["Compared", <Sentences key="counts" sentences={selectionWords(watch)} none="the main text" />],
    ["Notifies of", <Sentences key="news" sentences={thresholdWords(watch)} none="every change" />],
    [
      "Targets",
      <Sentences key="targets" sentences={targetWords(watch)} none="none: changes are stored and in the Atom feed" />,
    ],
    ["Totals", metricWords(watch)],
    ["Added", <Time key="added" at={watch.createdAt} />],
  ];
}

function Sentences({ sentences, none }: { sentences: string[]; none: string }) {
  if (sentences.length === 0) return <>{none}</>;
  return (
    <ul>
      {sentences.map((sentence, index) => (
        <li key={index}>{sentence}</li>
      ))}
    </ul>
  );
}

function selectionWords({ selection }: Watch): string[] {
  return [
    ...(selection.keep ?? []).map((each) => `keep ${each}`),
    ...(selection.drop ?? []).map((each) => `leave out ${each}`),
    ...(selection.ignoreText ?? []).map((each) => `ignore lines with “${each}”`),
    ...(selection.ignorePattern ?? []).map((each) => `ignore lines like ${each}`),
    ...(selection.sortLines ? ["the order of lines is ignored"] : []),
    ...(selection.uniqueLines ? ["repeated lines are ignored"] : []),
  ];
}

function thresholdWords({ thresholds }: Watch): string[] {
  return [
    ...(thresholds.textContains ?? []).map((each) => `new text with “${each}”`),
    ...((thresholds.priceBelow ?? null) === null ? [] : [`a price below ${price(thresholds.priceBelow, null)}`]),
    ...((thresholds.priceChangePercent ?? null) === null
      ? []
      : [`a price that moves by ${thresholds.priceChangePercent} % or more`]),
  ];
}

function targetWords({ targets }: Watch): string[] {
  return targets.map(
    (target) =>
      target.url +
      (target.signed ? ", signed" : "") +
      (target.digestMinutes === null ? "" : `, digest every ${counted(target.digestMinutes, "minute")}`),
  );
}
