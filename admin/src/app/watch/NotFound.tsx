import { LinkButton } from "@/components/Button";
import { PageHead } from "@/components/Card";
import { Empty } from "@/components/States";

/** The address names a watch that does not exist, or no longer. */
export function NoSuchWatch({ hint }: { hint: string }) {
  return (
    <Empty title="Watch not found">
      <p>{hint}</p>
      <LinkButton href="/watch" kind="primary">
        All watches
      </LinkButton>
    </Empty>
  );
}

/** The address says neither which watch nor which page is meant. */
export function NotNamed() {
  return (
    <>
      <PageHead title="Watch" />
      <Empty title="The address is incomplete">
        <LinkButton href="/watch" kind="primary">
          All watches and pages
        </LinkButton>
      </Empty>
    </>
  );
}
