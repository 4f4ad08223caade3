import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOfChoice, choiceOf, comparisonOf, neighbours, optionsOf } from "@/app/watch/page/choice";

const versions = [9, 7, 6].map((version) => ({ version, createdAt: version }));
const none = { from: null, to: null, read: null };

test("the newest version is compared with the one before, and a single one is read", () => {
  assert.deepEqual(choiceOf(none, versions), { from: 7, to: 9, read: null });
  assert.deepEqual(choiceOf({ ...none, to: 7 }, versions), { from: 6, to: 7, read: null });
  assert.deepEqual(choiceOf(none, versions.slice(2)), { from: null, to: 6, read: 6 });
  assert.deepEqual(choiceOf(none, []), none);
  assert.deepEqual(choiceOf({ from: 1, to: 2, read: 3 }, []), { from: 1, to: 2, read: 3 });
});

test("a step goes to the next version that there is, and stops at the ends", () => {
  const compared = { from: 6, to: 7, read: null };
  assert.deepEqual(neighbours(versions, compared), { older: null, newer: { from: 7, to: 9 } });
  assert.deepEqual(neighbours(versions, { ...compared, from: 7, to: 9 }), { older: { from: 6, to: 7 }, newer: null });
  assert.deepEqual(neighbours(versions, { ...compared, read: 7 }), { older: { read: 6 }, newer: { read: 9 } });
});

test("only a chosen comparison is kept in the address", () => {
  assert.deepEqual(addressOfChoice({ from: 6 }, { from: 7, to: 9, read: null }), { from: 6, to: 9 });
  assert.deepEqual(addressOfChoice({ read: 6 }, { from: 7, to: 9, read: null }), { read: 6 });
});

test("after a version was read, it is compared with the one before", () => {
  assert.deepEqual(comparisonOf(versions, { from: 7, to: 9, read: 7 }), { from: 6, to: 7, read: null });
  assert.deepEqual(comparisonOf(versions, { from: 7, to: 9, read: 6 }), { read: null });
  assert.deepEqual(comparisonOf(versions, { from: 6, to: 9, read: 9 }), { read: null });
});

test("a version of another page of the list can be seen as chosen", () => {
  assert.deepEqual(optionsOf(versions, 8).map(({ version }) => version), [9, 8, 7, 6]);
  assert.deepEqual(optionsOf(versions, 7), versions);
});
