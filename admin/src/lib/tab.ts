// The browser's tab.

/** The browser asks before the tab is closed, until what is returned is called. */
export function keepTabOpen(): () => void {
  const askFirst = (event: BeforeUnloadEvent) => event.preventDefault();
  window.addEventListener("beforeunload", askFirst);
  return () => window.removeEventListener("beforeunload", askFirst);
}
