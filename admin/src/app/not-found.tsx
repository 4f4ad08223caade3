import Link from "next/link";
import { Card } from "@/components/Card";

export default function NotFound() {
  return (
    <Card>
      <h1>Page not found</h1>
      <p className="mt-2 text-soft">The address may be misspelt, or from another version of Webloom.</p>
      <p className="mt-4">
        <Link href="/">Go to the overview</Link>
      </p>
    </Card>
  );
}
