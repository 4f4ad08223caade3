// Readers elsewhere.

import { execFileSync } from "node:child_process";

/** What it returns with the clock of that time zone. */
export function inZone<T>(zone: string, act: () => T): T {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    return act();
  } finally {
    process.env.TZ = before;
  }
}

/** What the expression is for a reader of that language; `names` are those of the module that it uses. */
export function inLanguage(language: string, module: string, names: string, expression: string): unknown {
  const resolve = new URL("../resolve.mjs", import.meta.url).href;
  const program = `import { ${names} } from "${module}"; console.log(JSON.stringify(${expression}));`;
  const said = execFileSync(process.execPath, ["--import", resolve, "--input-type=module", "--eval", program], {
    env: { ...process.env, LC_ALL: `${language}.UTF-8` },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(said);
}
