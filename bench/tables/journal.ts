import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { Store } from "../../src/core/engine/ports.ts";
import { groupRecords } from "../../src/stores/journal.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { chainRecord, driveChain } from "../chain.ts";
import { type Bench, type Contestant, interleave, timed } from "../measure.ts";
import { storeIn } from "../ours.ts";

const NODES = 250;
const RECORD = "a record";
const BARE = "append and fdatasync";
const CONTESTANTS: readonly Contestant[] = [
  { name: BARE, kind: "limit" },
  { name: "skillflow's journal", kind: "ours", promises: { [RECORD]: { most: 1.5, of: BARE } } },
];

export const journal: Bench = {
  name: "journal",
  title: "The journal next to bare writes",
  how: `The records of a chain of ${NODES} nodes, once as bare writes of JSON lines, which wait for the disk where the journal does, and once
through the journal: with the digests that chain its records, its lock, and the checks of what is appended.`,
  async measure(effort) {
    const rounds = effort.rounds(9);
    const folder = mkdtempSync(join(tmpdir(), "bench-journal-"));
    try {
      const source = memoryStore();
      await driveChain(source, folder, NODES);
      const records = groupRecords((await source.read(`chain-${NODES}`)).events);
      const measured = await interleave(CONTESTANTS, [RECORD], rounds, async ({ kind }, round) => {
        const write = () =>
          kind === "limit"
            ? writeBare(join(folder, `bare-${round}`), records)
            : writeJournal(storeIn(folder), `round-${round}`, records);
        return [(1000 * (await timed(write))) / records.length];
      });
      const rows = CONTESTANTS.map((row) => ({ ...row, cells: measured.get(row) ?? {} }));
      return { columns: [{ name: RECORD, unit: "µs", better: "less" }], rows, rounds };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

type Records = readonly (readonly RunEvent[])[];

const SYNCED: ReadonlySet<string> = new Set(["model:reply", "tool:call", "tool:result", "workflow:end"]);

function writeBare(path: string, records: Records): void {
  const file = openSync(path, "w");
  for (const events of records) {
    writeSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    if (events.some(({ type }) => SYNCED.has(type))) fdatasyncSync(file);
  }
  closeSync(file);
}

async function writeJournal(store: Store, run: string, records: Records): Promise<void> {
  const journal = await store.create({ ...chainRecord(NODES), run });
  for (const events of records) await journal.record(events[0]?.key ?? "", async () => events);
  await journal.close();
}
