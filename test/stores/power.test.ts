import fs, { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileStore } from "../../src/stores/file/store.ts";
import { describeKills } from "../contracts/kills.ts";
import { does, type StoreWorld, warning } from "../contracts/store.ts";
import { recordOf } from "../contracts/triage.ts";
import { LONG } from "../harness/long.ts";

/** How much of each file has reached the disk for certain, by its inode. */
const synced = new Map<number, number>();
const { fdatasyncSync } = fs;

beforeAll(() => {
  fs.fdatasyncSync = (file) => {
    fdatasyncSync(file);
    const { ino, size } = fs.fstatSync(file);
    synced.set(ino, size);
  };
  syncBuiltinESMExports();
});
afterAll(() => {
  fs.fdatasyncSync = fdatasyncSync;
  syncBuiltinESMExports();
});

/** A file store on a machine whose power fails at every crash: of a run's file, what waited for no disk is gone. */
function openWorld(): StoreWorld & { lost(): number } {
  const directory = mkdtempSync(join(tmpdir(), "power-"));
  let pid = 1;
  let lost = 0;
  const storeNow = () =>
    fileStore({ directory, self: { pid, host: "here", started: "" }, isAlive: (mark) => mark.pid === pid });
  let store = storeNow();
  return {
    get store() {
      return store;
    },
    crash() {
      for (const name of readdirSync(directory).filter((file) => file.endsWith(".jsonl"))) {
        const path = join(directory, name);
        const { ino, size } = statSync(path);
        const kept = synced.get(ino) ?? 0;
        lost += size - kept;
        truncateSync(path, kept);
      }
      pid += 1;
      store = storeNow();
      return store;
    },
    lost: () => lost,
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

describe("a machine that loses its power", () => {
  it("loses what was decided and nothing that was paid for or cannot be undone", async () => {
    const world = openWorld();
    const journal = await world.store.create(recordOf("a"));
    const call = {
      type: "tool:call",
      node: "gather",
      tool: "desk_post",
      input: {},
      ref: "r1",
      id: "1:gather/0/1/0",
    } as const;
    await journal.record("one", does(warning("decided")));
    await journal.record("two", does(call));
    await journal.record("three", does(warning("decided later")));
    const { journal: again, events } = await world.crash().open("a");
    expect(events.map((event) => event.type)).toEqual(["warning", "tool:call"]);
    expect(world.lost()).toBeGreaterThan(0);
    await again.close();
    world.close();
  });

  it("loses the announcement of calls that change nothing, until something has to survive after it", async () => {
    const world = openWorld();
    const journal = await world.store.create(recordOf("a"));
    const call = {
      type: "tool:call",
      node: "gather",
      tool: "desk_look",
      input: {},
      ref: "look/1",
      id: "1:gather/0/1/0",
    } as const;
    const result = { ...call, type: "tool:result", output: "seen" } as const;
    await journal.record("one", does(call), true);
    await journal.record("two", does(result));
    await journal.record("three", does(call), true);
    const { journal: again, events } = await world.crash().open("a");
    expect(events.map((event) => event.type)).toEqual(["tool:call", "tool:result"]);
    await again.close();
    world.close();
  });

  describeKills(openWorld, LONG ? 1 : 8);
});
