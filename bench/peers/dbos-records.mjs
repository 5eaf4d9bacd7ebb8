import { readFileSync } from "node:fs";
import { DBOS } from "@dbos-inc/dbos-sdk";

/** Bare steps that store the same texts as skillflow's engine, in the same order. */

DBOS.setConfig({ name: "bench", systemDatabaseUrl: process.env.BENCH_DATABASE_URL, logLevel: "error" });
const recording = DBOS.registerWorkflow(
  async (path, count) => {
    const all = JSON.parse(readFileSync(path, "utf8"));
    for (const events of all.slice(0, count)) {
      const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("");
      await DBOS.runStep(async () => lines, { name: events[0]?.key ?? "" });
    }
  },
  { name: "recording" },
);
await DBOS.launch();

/** The first of the records in the folder, a step each. */
export async function records(count, folder) {
  await (await DBOS.startWorkflow(recording)(`${folder}/records.json`, count)).getResult();
}

export const done = {};
export const close = () => DBOS.shutdown();
