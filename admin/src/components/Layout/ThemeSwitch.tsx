"use client";

import { DarkIcon, LightIcon, SystemThemeIcon } from "@/components/Icons";
import { chooseTheme, THEMES, useTheme } from "@/lib/theme";

const ICONS = { system: <SystemThemeIcon />, light: <LightIcon />, dark: <DarkIcon /> };

/** One button: each press chooses the next theme. */
export function ThemeSwitch() {
  const theme = useTheme();
  const next = THEMES[THEMES.indexOf(theme) + 1] ?? "system";
  return (
    <button
      type="button"
      title={`Theme: ${theme}. Press for ${next}.`}
      className="rounded p-2 text-soft hover:text-ink"
      onClick={() => chooseTheme(next)}
    >
      {ICONS[theme]}
      <span className="sr-only">Theme: {theme}</span>
    </button>
  );
}
