"use client";

import Link from "next/link";
import { useResource } from "@/lib/resource";
import { send } from "@/lib/api";
import type { Schema } from "@/lib/api";
import { MenuIcon } from "@/components/Icons";

type Props = { isMenuOpen: boolean; onMenu: () => void };

export function Navbar({ isMenuOpen, onMenu }: Props) {
  return (
    <header className="sticky top-0 z-30 h-14 border-b border-line bg-card shadow-card">
      <div className="mx-auto flex h-full max-w-[90rem] items-center gap-3 px-4 sm:px-6">
        <button
          type="button"
          className="-ml-2 rounded p-2 text-soft hover:text-ink md:hidden"
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          onClick={onMenu}
        >
          <MenuIcon />
          <span className="sr-only">Menu</span>
        </button>
        <Link href="/" className="flex items-center gap-2 text-lg font-semibold !text-ink hover:no-underline">
          <Logo />
          Webloom
        </Link>
        <div className="ml-auto">
          <HealthLink />
        </div>
      </div>
    </header>
  );
}

function HealthLink() {
  const health = useResource(
    "health",
    async (signal) => {
      // 503 is an answer too: it says what is down.
      const response = await fetchHealth(signal);
      return response;
    },
    { everyMs: 15_000 },
  );
  const status = health.error ? "unknown" : (health.data?.status ?? "");
  const [dot, words] = LOOKS[status] ?? ["bg-control", "…"];
  return (
    <Link href="/system" className="flex items-center gap-2 rounded px-2 py-1 text-sm !text-soft">
      <span className={`size-2.5 rounded-full ${dot}`} aria-hidden="true" />
      <span className="sr-only">Health: </span>
      {words}
    </Link>
  );
}

const LOOKS: Record<string, [string, string]> = {
  ok: ["bg-green-600", "all well"],
  degraded: ["bg-amber-500", "degraded"],
  down: ["bg-red-600", "down"],
  unknown: ["bg-red-600", "no answer"],
};

export async function fetchHealth(signal: AbortSignal): Promise<Schema<"Health">> {
  try {
    return (await (await send("/health", { signal })).json()) as Schema<"Health">;
  } catch (error) {
    const problem = (error as { problem?: Partial<Schema<"Health">> }).problem;
    if (problem?.status === "down") return problem as Schema<"Health">;
    throw error;
  }
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" className="size-7" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0284c7" />
      <path d="M6 9h20M6 16h20M6 23h20" stroke="#bae6fd" strokeWidth="2.5" strokeLinecap="round" />
      <path
        d="M10 6v6m0 8v6m6-13v6m0-13v3m0 14v3m6-20v6m0 8v6"
        stroke="#fff"
        strokeWidth="2.5"
        strokeLinecap="round"
      />
    </svg>
  );
}
