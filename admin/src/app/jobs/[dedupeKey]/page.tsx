import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Job posting" };

/** One page stands for all postings; the server answers every /jobs/… with it. */
export function generateStaticParams() {
  return [{ dedupeKey: "_" }];
}

export default function Page() {
  return <View />;
}
