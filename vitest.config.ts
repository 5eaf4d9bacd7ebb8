import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^skillflow$/, replacement: source("./src/index.ts") },
      { find: /^skillflow\/testing$/, replacement: source("./src/testing.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
    reporters: ["default", "./test/summary-reporter.ts"],
  },
});
