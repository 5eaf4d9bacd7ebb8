import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RunEvent } from "../src/core/engine/event/event.ts";
import { openDbosStore } from "../src/stores/dbos/store.ts";
import { chainRecord } from "./chain.ts";

/** Our side of the contest of engines: what `peers/contest.mjs` runs. */

const store = openDbosStore(process.env.BENCH_DATABASE_URL ?? "", { pid: process.pid, host: "bench", started: "1" });
let runs = 0;

/** The first of the records in the folder, as one run. */
export async function records(count: number, folder: string): Promise<void> {
  const all = JSON.parse(readFileSync(join(folder, "records.json"), "utf8")) as readonly (readonly RunEvent[])[];
  const journal = await store.create({ ...chainRecord(1), run: `of-${process.pid}-${runs++}` });
  for (const events of all.slice(0, count)) await journal.record(events[0]?.key ?? "", async () => events);
  await journal.close();
}

export const done = {};
export const close = () => store.close();
