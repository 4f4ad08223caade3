import { AddTags, confirming, RemoveTags, settingInterval } from "@/components/List/forms";
import type { BulkAction, BulkForm } from "@/components/List/types";

const SETTINGS: BulkAction[] = [
  { name: "Tag", Form: AddTags, isUndoable: true, done: "tagged" },
  { name: "Untag", Form: RemoveTags, isUndoable: true, done: "untagged" },
  {
    name: "Set interval",
    Form: settingInterval((everyMinutes) => ({ action: "schedule", schedule: { everyMinutes } })),
    isUndoable: true,
    done: "scheduled",
  },
  {
    name: "Remove",
    Form: confirming({
      title: (count) => `Remove ${count}?`,
      text: "Their pages are no longer checked, and their settings and targets are deleted. This can't be undone.",
      yes: "Remove",
      body: { action: "remove", pages: false },
      option: { label: "Also delete their stored pages: versions, changes and prices", body: { pages: true } },
    }),
    done: "removed",
    isDangerous: true,
  },
];

export const OF_WATCHES: BulkAction[] = [
  {
    name: "Run now",
    body: { action: "run" },
    about: "All their pages are checked now, whatever the schedule.",
    done: "started",
  },
  { name: "Pause", body: { action: "pause" }, isUndoable: true, done: "paused" },
  { name: "Resume", body: { action: "resume" }, isUndoable: true, done: "resumed" },
  ...SETTINGS,
];

/** Of the watches that the pages belong to: other pages than the selected ones are affected, so each asks first. */
export const OF_PAGES: BulkAction[] = [
  {
    name: "Check now",
    body: { action: "run" },
    about: "The watch of each is checked now, with all its pages.",
    done: "started",
  },
  {
    name: "Pause",
    body: { action: "pause" },
    about: "The watch of each is paused, with all its pages.",
    isUndoable: true,
    isAlwaysAsked: true,
    done: "paused",
  },
  {
    name: "Resume",
    body: { action: "resume" },
    about: "The watch of each is resumed, with all its pages.",
    isUndoable: true,
    isAlwaysAsked: true,
    done: "resumed",
  },
  ...SETTINGS.map(({ Form, ...action }) => ({ ...action, Form: Form && forWatchesOf(Form) })),
];

function forWatchesOf(Form: BulkForm): BulkForm {
  return function ForWatches(props) {
    return <Form {...props} count={`the watches of ${props.count}`} />;
  };
}
