import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Add a feed" };

export default function Page() {
  return <View />;
}
