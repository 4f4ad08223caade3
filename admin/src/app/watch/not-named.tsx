import { LinkButton } from "@/components/Button";
import { PageHead } from "@/components/Card";
import { Empty } from "@/components/States";

/** The address says neither which watch nor which page is meant. */
export function NotNamed() {
  return (
    <>
      <PageHead title="Watch" />
      <Empty title="This address does not say what to show">
        <LinkButton href="/watch" kind="primary">
          All watches and pages
        </LinkButton>
      </Empty>
    </>
  );
}
