import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import { Layout } from "@/components/Layout/Layout";
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
    <html lang="en">
      <body>
        <Layout>{children}</Layout>
      </body>
    </html>
  );
}
