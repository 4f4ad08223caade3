import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Queue" };

/** One page stands for all queues; the server answers every /queues/… with it. */
export function generateStaticParams() {
  return [{ queue: "_" }];
}

export default function Page() {
  return <View />;
}
