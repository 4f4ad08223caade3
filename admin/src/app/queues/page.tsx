import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Queues" };

export default function Page() {
  return <View />;
}
