import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Feed" };

/** One page stands for all feeds; the server answers every /feeds/… with it. */
export function generateStaticParams() {
  return [{ feedId: "_" }];
}

export default function Page() {
  return <View />;
}
