import assert from "node:assert/strict";
import { test } from "node:test";
import { cleared, givenOf, isFiltered, listQueryIn, nextSort } from "@/components/List/listQuery";
import { chosenOf, templateOf, toggledColumns, widthOf } from "@/components/List/columns";
import { isSelected, NONE, pageToggled, toggled } from "@/components/List/selection";
import { FORGOTTEN, inAddress, nextTrail, wholeTrail } from "@/components/List/trail";
import { keepViews, viewsOf, withView } from "@/components/List/views";

const asked = (search: string, prefix = "") => listQueryIn(new URLSearchParams(search), prefix, ["state"], ["name"]);

test("the address says what is asked for, each list of a screen by its own names", () => {
  const found = asked("pages.q=+oak++&pages.sort=-name&pages.cursor=a&pages.cursor=b&pages.state=paused&q=other", "pages.");
  assert.deepEqual(found, {
    q: "oak",
    sort: "-name",
    tag: "",
    filters: { state: "paused" },
    columns: null,
    cursors: ["a", "b"],
  });
  assert.equal(asked(`q=${"x".repeat(500)}`).q.length, 200);
  assert.equal(asked("sort=-nonsense").sort, "");
  assert.deepEqual(asked("columns=name,state").columns, ["name", "state"]);
});

test("another question starts at the first page; other columns stay on this one", () => {
  assert.deepEqual(givenOf({ q: "oak" }, "pages."), { "pages.q": "oak", "pages.cursor": null, "pages.page": null });
  assert.deepEqual(givenOf({ columns: "name" }, ""), { columns: "name" });
  assert.deepEqual(givenOf({ cursor: ["a"] }, ""), { cursor: ["a"] });
  assert.deepEqual(givenOf({ page: 2 }, ""), { page: 2 });
});

const storage = () => {
  const kept = new Map<string, string>();
  return { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) };
};
const far = (kept: ReturnType<typeof storage> | null, key: string, pages: number, cursor = (page: number) => `c${page}`) =>
  Array.from({ length: pages }, (_, page) => cursor(page)).reduce<string[]>((on, next) => nextTrail(kept, key, on, next), []);

test("the way back leads through every page, and only its end is in the address", () => {
  const kept = storage();
  const cursors = far(kept, "watches", 50);
  far(kept, "lamps", 30);
  assert.deepEqual(cursors, [FORGOTTEN, ...Array.from({ length: 10 }, (_, page) => `c${40 + page}`)]);
  for (let page = 50, shown = cursors; page >= 0; page--) {
    const trail = wholeTrail(kept, "watches", shown);
    assert.equal(trail.length, page);
    assert.equal(shown.at(-1), page > 0 ? `c${page - 1}` : undefined);
    shown = inAddress(trail.slice(0, -1));
  }
});

test("what is stored of ways back is bounded, and where one is not stored it ends on the first page", () => {
  const elsewhere = far(null, "watches", 50);
  assert.equal(wholeTrail(null, "watches", elsewhere).length, 11);
  assert.deepEqual(inAddress([FORGOTTEN]), []);
  const kept = storage();
  const long = far(kept, "watches", 700, (page) => `${page}`.padStart(1000));
  assert.ok((kept.getItem("webloom-trails") ?? "").length <= 500_000);
  const trail = wholeTrail(kept, "watches", long);
  assert.equal(trail[0], FORGOTTEN);
  assert.ok(trail.length > 200);
  kept.setItem("webloom-trails", '[["watches", [1]], null, {"x": 1}]');
  assert.deepEqual(wholeTrail(kept, "watches", elsewhere), elsewhere);
});

test("a second click on a head turns the order round", () => {
  assert.equal(nextSort("", "name"), "name");
  assert.equal(nextSort("name", "name"), "-name");
  assert.equal(nextSort("-name", "name"), "name");
});

test("what is cleared are the filters, not order and columns", () => {
  const some = asked("q=a&state=paused&sort=name&columns=name");
  assert.equal(isFiltered(some), true);
  assert.deepEqual(cleared(some), { state: null, q: null, tag: null });
  assert.equal(isFiltered(asked("sort=name&columns=name")), false);
});

const COLUMNS = [
  { id: "name", name: "Name", width: 100, grow: 2, cell: () => null },
  { id: "state", name: "State", width: 80, cell: () => null },
  { id: "added", name: "Added", width: 90, isExtra: true, cell: () => null },
];
const ids = (chosen: { id: string }[]) => chosen.map(({ id }) => id).join();

test("columns are shown in their order, the first one always", () => {
  assert.equal(ids(chosenOf(COLUMNS, null)), "name,state");
  assert.equal(ids(chosenOf(COLUMNS, ["added", "nonsense"])), "name,added");
  assert.equal(toggledColumns(COLUMNS, null, "added"), "name,state,added");
  assert.equal(toggledColumns(COLUMNS, ["name", "state", "added"], "added"), null);
  assert.equal(widthOf(chosenOf(COLUMNS, null), 36), 232);
  assert.equal(templateOf(chosenOf(COLUMNS, null), 36, 0), "36px minmax(100px, 2fr) 80px");
});

test("with Shift every row in between is selected, or no longer", () => {
  const keys = ["a", "b", "c", "d"];
  const one = toggled(NONE, keys, 0, null);
  const some = toggled(one, keys, 2, 0);
  assert.deepEqual([...some.keys], ["a", "b", "c"]);
  assert.deepEqual([...toggled(some, keys, 1, 2).keys], ["a"]);
});

test("all of a page are selected beside those of other pages", () => {
  const both = pageToggled(toggled(NONE, ["x"], 0, null), ["a", "b"]);
  assert.deepEqual([...both.keys], ["x", "a", "b"]);
  assert.deepEqual([...pageToggled(both, ["a", "b"]).keys], ["x"]);
});

test("one less than all that match is this page without it", () => {
  const all = { keys: new Set<string>(), isAll: true };
  assert.equal(isSelected(all, "anything"), true);
  const less = toggled(all, ["a", "b", "c"], 1, null);
  assert.deepEqual([less.isAll, ...less.keys], [false, "a", "c"]);
});

test("views are kept by name, without the place in the list", () => {
  const kept = new Map<string, string>();
  const store = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) };
  const views = withView([], " Broken ", "?state=failing&cursor=a&cursor=b&page=3&pages.page=2");
  assert.deepEqual(views, [{ name: "Broken", query: "state=failing&pages.page=2" }]);
  assert.deepEqual(withView([], "Pages", "?pages.q=x&pages.cursor=a&pages.page=2", "pages."), [{ name: "Pages", query: "pages.q=x" }]);
  assert.deepEqual(withView(views, "Broken", "?q=x"), [{ name: "Broken", query: "q=x" }]);
  keepViews(store, "/watch", views);
  assert.deepEqual(viewsOf(store, "/watch"), views);
  assert.deepEqual(viewsOf(store, "/feeds"), []);
});

test("what is stored and no view is left out", () => {
  const store = (text: string) => ({ getItem: () => text, setItem: () => {} });
  assert.deepEqual(viewsOf(store("{broken"), "/watch"), []);
  assert.deepEqual(viewsOf(store('{"name": "x"}'), "/watch"), []);
  assert.deepEqual(viewsOf(store('[null, 3, {"name": 4, "query": ""}, {"name": "a", "query": "q=1"}]'), "/watch"), [
    { name: "a", query: "q=1" },
  ]);
});
