import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Watch" };

export default function Page() {
  return <View />;
}
