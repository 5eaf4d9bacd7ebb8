import { readdirSync } from "node:fs";
import { fileStore } from "../../src/stores/file/store.ts";
import { recordOf } from "../contracts/triage.ts";

/** A process with a tiny file limit: prints how its runs were refused, and how many files it left open. */

const [directory = ""] = process.argv.slice(2);
const store = fileStore({ directory, self: { pid: process.pid, host: "here", started: "" }, isAlive: () => true });
const open = () => readdirSync("/proc/self/fd").length;

const codes: string[] = [];
const counts: number[] = [];
for (const run of ["a", "b", "c"]) {
  await store.create(recordOf(run)).catch((error: { readonly code?: string }) => codes.push(String(error.code)));
  counts.push(open());
}
process.stdout.write(JSON.stringify({ codes, left: (counts.at(-1) ?? 0) - (counts[0] ?? 0) }));
