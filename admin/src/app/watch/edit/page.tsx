import type { Metadata } from "next";
import { View } from "./view";

export const metadata: Metadata = { title: "Edit a watch" };

export default function Page() {
  return <View />;
}
