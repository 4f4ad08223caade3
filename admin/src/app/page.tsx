import { View } from "./view";

export default function Page() {
  return <View />;
}
