import type { NextConfig } from "next";

const api = process.env.WEBLOOM_API ?? "http://127.0.0.1:8081";

const config: NextConfig = {
  generateBuildId: () => "webloom", // the same sources make the same files
  images: { unoptimized: true },
  poweredByHeader: false,
  ...(process.env.NODE_ENV === "production"
    ? { output: "export" as const }
    : {
        rewrites: async () => [
          ...["/api/:path*", "/metadata/:path*", "/health/:path*", "/metrics"].map((source) => ({
            source,
            destination: `${api}${source}`,
          })),
        ],
      }),
};

export default config;
