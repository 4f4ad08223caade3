import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import { Layout } from "@/components/Layout/Layout";
import { APPLY_THEME } from "@/lib/applyTheme";
import "./globals.css";

export const metadata: Metadata = {
  title: { default: "Webloom", template: "%s · Webloom" },
  description: "Inventory, imports and watched pages",
};

export const viewport: Viewport = {
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#ffffff" },
    { media: "(prefers-color-scheme: dark)", color: "#12212e" },
  ],
};

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    <html lang="en" suppressHydrationWarning>
      <head>
        {/* Next takes its own one away for a moment between two pages; browsers then ask for /favicon.ico. */}
        <link rel="icon" type="image/svg+xml" href="/icon.svg" />
        <script dangerouslySetInnerHTML={{ __html: APPLY_THEME }} />
      </head>
      <body>
        <Layout>{children}</Layout>
      </body>
    </html>
  );
}
