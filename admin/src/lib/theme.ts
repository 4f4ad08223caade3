// Light, dark, or as the system has it; kept in this browser.

import { THEME_NAME } from "./applyTheme";
import { Followed, useFollowed } from "./store";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const chosen = new Followed<Theme>("system");

function stored(): Theme {
  try {
    return THEMES.find((each) => each === window.localStorage.getItem(THEME_NAME)) ?? "system";
  } catch {
    return "system"; // a browser that keeps nothing for this site
  }
}

if (typeof window !== "undefined") chosen.set(stored());

export function chooseTheme(theme: Theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    window.localStorage.setItem(THEME_NAME, theme);
  } catch {
    // It holds until the page is left.
  }
  chosen.set(theme);
}

export function useTheme(): Theme {
  return useFollowed(chosen, "system");
}
