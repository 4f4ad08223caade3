import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Inbox" };

export default function Page() {
  return <View />;
}
