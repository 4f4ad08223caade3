"use client";

import Link from "next/link";
import { MenuIcon } from "@/components/Icons";
import { AddAnywhere } from "@/components/Layout/AddAnywhere";
import { Problems } from "@/components/Layout/Problems";
import { Shortcuts } from "@/components/Layout/Shortcuts";
import { ThemeSwitch } from "@/components/Layout/ThemeSwitch";

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
        <Link href="/" prefetch={false} className="flex items-center gap-2 text-lg font-semibold !text-ink hover:no-underline">
          <Logo />
          <span className="max-[27rem]:sr-only">Webloom</span>
        </Link>
        <div className="ml-auto flex items-center gap-1">
          <div className="flex min-w-32 justify-end">
            <Problems />
          </div>
          <AddAnywhere />
          <Shortcuts />
          <ThemeSwitch />
        </div>
      </div>
    </header>
  );
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
