// Node strips types by itself. Our imports are resolved as the bundler does it:
// "@/" is src/, and .ts may be left out.

import { registerHooks } from "node:module";

const SOURCES = new URL("../src/", import.meta.url);
const OURS = /^(?:@|\.{1,2})\/(?!.*\.\w+$)/;

registerHooks({
  resolve(name, context, next) {
    if (!OURS.test(name) || context.parentURL?.includes("/node_modules/")) return next(name, context);
    const file = name.startsWith("@/") ? new URL(name.slice(2), SOURCES).href : name;
    return { ...next(`${file}.ts`, context), format: "module-typescript" };
  },
});
