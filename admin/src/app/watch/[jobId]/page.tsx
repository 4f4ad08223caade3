import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Watch" };

/** One page stands for all watches; the server answers every /watch/… with it. */
export function generateStaticParams() {
  return [{ jobId: "_" }];
}

export default function Page() {
  return <View />;
}
