// Runs the unit tests with Node's test runner: `test.mjs` all of them, `test.mjs format watch` those of
// unit/format.test.ts and unit/watch.test.ts. Options are the runner's.

import { spawnSync } from "node:child_process";

const given = process.argv.slice(2);
const options = given.filter((each) => each.startsWith("-"));
const names = given.filter((each) => !each.startsWith("-"));
const files = (names.length > 0 ? names : ["*"]).map((name) => `unit/${name}.test.ts`);
const { status } = spawnSync(process.execPath, ["--import", "./resolve.mjs", "--test", ...options, ...files], {
  cwd: import.meta.dirname,
  // The same on every machine. A test that takes the reader's zone for UTC fails.
  env: { ...process.env, LC_ALL: "en_US.UTF-8", TZ: "America/New_York" },
  stdio: "inherit",
});
process.exitCode = status ?? 1;
