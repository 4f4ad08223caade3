/** Grey lines while something is loading. */
export function Skeleton({ lines = 5 }: { lines?: number }) {
  return (
    <div role="status" className="flex animate-pulse flex-col gap-3">
      <span className="sr-only">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className={`h-5 rounded bg-line ${index % 3 === 2 ? "w-2/3" : "w-full"}`} />
      ))}
    </div>
  );
}

export function PageSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <div className="h-7 w-48 animate-pulse rounded bg-line" />
      <Skeleton lines={8} />
    </div>
  );
}
