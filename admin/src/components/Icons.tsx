import type { ReactNode } from "react";

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      viewBox="0 0 24 24"
      className="size-5 shrink-0"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const HomeIcon = () => <Icon><path d="M4 11l8-7 8 7v8a1 1 0 0 1-1 1h-4v-6H9v6H5a1 1 0 0 1-1-1z" /></Icon>;
export const InboxIcon = () => <Icon><path d="M4 13l3-8h10l3 8v6H4zm0 0h5l1 3h4l1-3h5" /></Icon>;
export const HistoryIcon = () => <Icon><path d="M4 12a8 8 0 1 0 2.5-5.8L4 8m0-4v4h4m4-1v5l3 2" /></Icon>;
export const FeedIcon = () => <Icon><path d="M5 5a14 14 0 0 1 14 14M5 11a8 8 0 0 1 8 8" /><circle cx="6" cy="18" r="1.5" /></Icon>;
export const JobsIcon = () => <Icon><rect x="3" y="8" width="18" height="11" rx="2" /><path d="M9 8V6a1 1 0 0 1 1-1h4a1 1 0 0 1 1 1v2M3 13h18" /></Icon>;
export const InventoryIcon = () => <Icon><ellipse cx="12" cy="6" rx="7" ry="3" /><path d="M5 6v12c0 1.7 3.1 3 7 3s7-1.3 7-3V6M5 12c0 1.7 3.1 3 7 3s7-1.3 7-3" /></Icon>;
export const WatchIcon = () => <Icon><path d="M2 12s3.6-7 10-7 10 7 10 7-3.6 7-10 7-10-7-10-7z" /><circle cx="12" cy="12" r="3" /></Icon>;
export const QueuesIcon = () => <Icon><path d="M4 6h16M4 12h16M4 18h10" /></Icon>;
export const SystemIcon = () => <Icon><path d="M3 12h4l3-8 4 16 3-8h4" /></Icon>;
export const MenuIcon = () => <Icon><path d="M4 6h16M4 12h16M4 18h16" /></Icon>;
export const AddIcon = () => <Icon><path d="M12 5v14M5 12h14" /></Icon>;
export const LightIcon = () => <Icon><circle cx="12" cy="12" r="4" /><path d="M12 3v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4m0-12.8L17 7M7 17l-1.4 1.4" /></Icon>;
export const DarkIcon = () => <Icon><path d="M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5z" /></Icon>;
export const SystemThemeIcon = () => <Icon><rect x="3" y="5" width="18" height="12" rx="2" /><path d="M9 21h6m-3-4v4" /></Icon>;
