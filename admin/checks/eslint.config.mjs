// The rules for src/: Next.js, React, TypeScript and accessibility. ESLint runs in the folder above.

import next from "eslint-config-next/core-web-vitals";
import typescript from "eslint-config-next/typescript";
import accessibility from "eslint-plugin-jsx-a11y";

const { recommended, strict } = accessibility.flatConfigs;

const config = [
  { ignores: ["src/lib/api-types.ts"] }, // generated
  ...next,
  ...typescript,
  {
    rules: {
      ...strict.rules,
      // A box that scrolls can take the focus, or no keyboard could scroll it: WCAG 2.1.1.
      "jsx-a11y/no-noninteractive-tabindex": ["error", { tags: [], roles: ["region"] }],
      // Clicks and keys. Dropping a file is a second way to what a control beside it does.
      "jsx-a11y/no-static-element-interactions": recommended.rules["jsx-a11y/no-static-element-interactions"],
    },
    settings: {
      "jsx-a11y": {
        components: {
          Button: "button",
          FilterInput: "input",
          Input: "input",
          Link: "a",
          LinkButton: "a",
          Select: "select",
          Textarea: "textarea",
          To: "a",
        },
      },
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
  },
  {
    // Requests go through src/lib, which knows where the API is and has the key.
    files: ["src/app/**", "src/components/**"],
    rules: { "no-restricted-globals": ["error", "fetch", "EventSource", "XMLHttpRequest"] },
  },
];

export default config;
