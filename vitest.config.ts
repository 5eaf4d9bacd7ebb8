import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LONG, longer } from "./test/harness/long.ts";
import LongestFirst from "./test/harness/longest-first.ts";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Rooms whose tests leave nothing behind in their process: they share one, and load what they test once. */
const SHARING = [
  "adversary",
  "app",
  "cli",
  "core",
  "docs",
  "entry",
  "files",
  "kit",
  "loaders",
  "models",
  "protocol",
  "reports",
  "repository",
  "run",
  "sandbox",
  "skills",
  "stores",
  "workflows",
].map((room) => `test/${room}/**/*.test.ts`);

export default defineConfig({
  resolve: {
    alias: [
      { find: /^skillflow$/, replacement: source("./src/index.ts") },
      { find: /^skillflow\/internal$/, replacement: source("./src/kit/internal.ts") },
      { find: /^skillflow\/testing$/, replacement: source("./src/testing.ts") },
    ],
  },
  test: {
    testTimeout: longer(60_000),
    hookTimeout: longer(60_000),
    // A slow machine may delay one test of thousands. The reporter names each with the error of its first attempt.
    retry: LONG ? 0 : 1,
    // One more than there are processors on the smallest machine: much of the work is done by the processes that tests start.
    maxWorkers: 3,
    maxConcurrency: 20,
    sequence: { sequencer: LongestFirst },
    globalSetup: "./test/harness/installed-program.ts",
    setupFiles: "./test/harness/setup.ts",
    // Style sheets are imported as text, and would be empty otherwise.
    css: true,
    server: { deps: { external: [/\/installation-\w+\/dist\//] } },
    reporters: ["default", "./test/harness/summary-reporter.ts"],
    projects: [
      { extends: true, test: { name: "apart", include: ["test/**/*.test.ts"], exclude: SHARING } },
      // Processes, not threads: to start a program costs by what its parent holds, and each has a working directory.
      { extends: true, test: { name: "sharing", include: SHARING, pool: "forks", isolate: false } },
    ],
  },
});
