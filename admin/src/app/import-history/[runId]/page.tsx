import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Import run" };

/** One page stands for all runs; the server answers every /import-history/… with it. */
export function generateStaticParams() {
  return [{ runId: "_" }];
}

export default function Page() {
  return <View />;
}
