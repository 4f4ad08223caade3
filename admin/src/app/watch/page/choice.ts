// Which versions of a page are compared, or which one is read.

type Version = { version: number; createdAt: number };

/** `read` is shown instead of the comparison, unless it is null. */
export type Choice = { from: number | null; to: number | null; read: number | null };

/** What is shown unless the address says otherwise: the newest version compared with the one before, or alone. */
export function choiceOf(given: Choice, versions: Version[]): Choice {
  const to = given.to ?? versions[0]?.version ?? null;
  const from = given.from ?? before(versions, to);
  return { from, to, read: given.read ?? (from === null ? to : null) };
}

/** What goes into the address: both ends of a comparison once one is chosen, so that a newer version changes neither. */
export function addressOfChoice(part: Partial<Choice>, { from, to }: Choice): Partial<Choice> {
  return "from" in part || "to" in part ? { from, to, ...part } : part;
}

/** The comparison that is shown after a version was read: that of this version, if it has one before it. */
export function comparisonOf(versions: Version[], { to, read }: Choice): Partial<Choice> {
  const from = before(versions, read);
  return read === to || from === null ? { read: null } : { from, to: read, read: null };
}

/** The next older of the known versions, the newest first; null: none is known. */
export function before(versions: Version[], version: number | null): number | null {
  return versions.find((each) => version !== null && each.version < version)?.version ?? null;
}

function after(versions: Version[], version: number | null): number | null {
  return versions.findLast((each) => version !== null && each.version > version)?.version ?? null;
}

/** One version back and forward: the text of the next one, or its difference from the one before. */
export function neighbours(
  versions: Version[],
  { to, read }: Choice,
): { older: Partial<Choice> | null; newer: Partial<Choice> | null } {
  if (read !== null) {
    const [older, newer] = [before(versions, read), after(versions, read)];
    return { older: older === null ? null : { read: older }, newer: newer === null ? null : { read: newer } };
  }
  const pair = (end: number | null) => {
    const start = before(versions, end);
    return end === null || start === null ? null : { from: start, to: end };
  };
  return { older: pair(before(versions, to)), newer: pair(after(versions, to)) };
}

/** The known versions, and the chosen one if it is on another page of the list. */
export function optionsOf(versions: Version[], chosen: number | null): { version: number; createdAt: number | null }[] {
  const isKnown = chosen === null || versions.some(({ version }) => version === chosen);
  const all = isKnown ? versions : [...versions, { version: chosen, createdAt: null }];
  return [...all].sort((a, b) => b.version - a.version);
}
