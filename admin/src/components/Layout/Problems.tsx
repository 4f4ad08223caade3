"use client";

import Link from "next/link";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Time } from "@/components/Time";
import { TroubleList } from "@/components/Troubles";
import { api } from "@/lib/api";
import { apiAddress } from "@/lib/config";
import { counted } from "@/lib/format";
import { useKeyWanted } from "@/lib/key";
import { useAwaySince } from "@/lib/reachable";
import { useResource } from "@/lib/resource";

const EVERY_MS = 10_000;
const RED = "bg-red-600";

/** The state of the installation, on every page: all well, or what needs attention. */
export function Problems() {
  const awaySince = useAwaySince();
  const keyWanted = useKeyWanted();
  const troubles = useResource(keyWanted ? null : "troubles", (signal) => api.get("/api/troubles", { signal }), {
    everyMs: EVERY_MS,
  });
  const found = troubles.data?.data ?? [];
  if (awaySince !== null) return <Away since={awaySince} />;
  if (found.length > 0) return <Found troubles={found} />;
  if (keyWanted) return null; // nothing is known before somebody signs in
  if (troubles.error) return <State dot={RED}>no answer</State>;
  return <State dot={troubles.data ? "bg-green-600" : "bg-control"}>{troubles.data ? "all well" : "…"}</State>;
}

function State({ dot, children }: { dot: string; children: string }) {
  return (
    <Link href="/system" prefetch={false} className="flex items-center gap-2 rounded px-2 py-1 text-sm !text-soft">
      <Dot colour={dot} />
      <span className="sr-only">Health: </span>
      {children}
    </Link>
  );
}

function Dot({ colour }: { colour: string }) {
  return <span className={`size-2.5 shrink-0 rounded-full ${colour}`} aria-hidden="true" />;
}

/** No link: without the server it would lead away from what is still shown, to an error of the browser. */
function Away({ since }: { since: number }) {
  return (
    <Opened label="not responding" title="Webloom is not responding" dot={RED} look="bg-bad-pale text-bad">
      {() => (
        <div className="flex flex-col gap-2">
          <p>
            Nothing has come from {new URL(apiAddress("/"), window.location.href).host} since <Time at={since} />. Webloom may have been stopped or may be
            restarting, or this device has lost its connection.
          </p>
          <p>
            If it does not come back, see whether its process runs, and what its log says last. This page tries again
            automatically every few seconds; until then, what it shows stays as it was.
          </p>
        </div>
      )}
    </Opened>
  );
}

/** The number of problems, on a button that lists them. */
function Found({ troubles }: { troubles: Parameters<typeof TroubleList>[0]["troubles"] }) {
  const isBad = troubles.some(({ level }) => level === "error");
  return (
    <Opened
      label={counted(troubles.length, "problem")}
      title="Needs attention"
      dot={isBad ? RED : "bg-amber-500"}
      look={isBad ? "bg-bad-pale text-bad" : "bg-warn-pale text-warn"}
    >
      {(close) => <TroubleList troubles={troubles} onLook={close} />}
    </Opened>
  );
}

/** A button that opens what it is about below itself. */
function Opened({
  label,
  title,
  dot,
  look,
  children,
}: {
  label: string;
  title: string;
  dot: string;
  look: string;
  children: (close: () => void) => ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  const whole = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    const onPress = (event: PointerEvent) => {
      if (event.target instanceof Node && !whole.current?.contains(event.target)) setOpen(false);
    };
    window.addEventListener("keydown", onKey);
    window.addEventListener("pointerdown", onPress);
    return () => {
      window.removeEventListener("keydown", onKey);
      window.removeEventListener("pointerdown", onPress);
    };
  }, [isOpen]);
  return (
    <div ref={whole} className="sm:relative">
      <button
        ref={button}
        type="button"
        aria-expanded={isOpen}
        aria-controls="problems"
        className={`flex items-center gap-2 rounded-lg px-2 py-1 text-sm whitespace-nowrap ${look}`}
        onClick={() => setOpen(!isOpen)}
      >
        <Dot colour={dot} />
        <span className="sr-only">Health: </span>
        {label}
      </button>
      <div
        id="problems"
        hidden={!isOpen}
        className="absolute inset-x-2 top-full z-40 mt-2 max-h-[70vh] overflow-y-auto rounded-xl border border-line bg-card p-4 shadow-card sm:right-0 sm:left-auto sm:w-[34rem]"
      >
        <h2 className="mb-3">{title}</h2>
        {children(() => setOpen(false))}
      </div>
    </div>
  );
}
