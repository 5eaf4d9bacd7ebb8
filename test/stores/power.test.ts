import fs, { readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { EventBody } from "../../src/core/engine/event/event.ts";
import { fileStore } from "../../src/stores/file/store.ts";
import { describeKills } from "../contracts/kills.ts";
import { does, type StoreWorld, warning } from "../contracts/store.ts";
import { recordOf } from "../contracts/triage.ts";
import { LONG } from "../harness/long.ts";
import { makeQuickFolder } from "../harness/quick-folder.ts";

/** Number of bytes of each file that are certainly on disk, by its inode. */
const synced = new Map<number, number>();
/** Turns of the event loop that a sync in the background takes. One that is running at a crash has no effect. */
let delay = 0;
/** Counts the crashes, so that a sync that was running at one is not counted. */
let crashes = 0;
let fault: Error | undefined;
const { fdatasyncSync, fdatasync } = fs;

beforeAll(() => {
  fs.fdatasyncSync = (file) => {
    fdatasyncSync(file);
    const { ino, size } = fs.fstatSync(file);
    synced.set(ino, size);
  };
  fs.fdatasync = ((file: number, done: (error: Error | null) => void) => {
    const { ino, size } = fs.fstatSync(file);
    const begun = crashes;
    const wait = (turns: number) => {
      if (turns > 0) return setImmediate(wait, turns - 1);
      if (!fault && begun === crashes) synced.set(ino, size);
      return done(fault ?? null);
    };
    setImmediate(wait, delay);
  }) as typeof fdatasync;
  syncBuiltinESMExports();
});
afterEach(() => {
  delay = 0;
  fault = undefined;
});
afterAll(() => {
  Object.assign(fs, { fdatasyncSync, fdatasync });
  syncBuiltinESMExports();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

const directories: string[] = [];

/**
 * A file store on a machine whose power fails at every crash: bytes of a run's file that were not on the disk are lost.
 */
function openWorld(): StoreWorld & { lost(): number } {
  const directory = makeQuickFolder("power-");
  directories.push(directory);
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
      crashes += 1;
      for (const name of readdirSync(directory).filter((file) => file.endsWith(".jsonl"))) {
        const path = join(directory, name);
        const { ino, size } = statSync(path);
        const kept = Math.min(size, synced.get(ino) ?? 0);
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

const call = {
  type: "tool:call",
  node: "gather",
  tool: "desk_post",
  input: {},
  ref: "r1",
  id: "1:gather/0/1/0",
} as const;
const result = { ...call, type: "tool:result", output: "done" } as const;
const usage = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, costUsd: 0 };
const reply: EventBody = {
  type: "model:reply",
  node: "gather",
  purpose: "work",
  model: "m",
  parts: [],
  stop: "end",
  usage,
  prompt: "0",
};

describe("a machine that loses its power", () => {
  it("loses decisions after the last write, but never the announcement of a write", async () => {
    const world = openWorld();
    const journal = await world.store.create(recordOf("a"));
    await journal.record("one", does(warning("decided")));
    await journal.record("two", does(call));
    await journal.record("three", does(warning("decided later")));
    const { journal: again, events } = await world.crash().open("a");
    expect(events.map((event) => event.type)).toEqual(["warning", "tool:call"]);
    expect(world.lost()).toBeGreaterThan(0);
    await again.close();
    world.close();
  });

  it("loses replies and results of reads that are not on the disk yet, from the end only", async () => {
    const world = openWorld();
    delay = 5;
    const journal = await world.store.create(recordOf("a"));
    await journal.record("one", does({ ...call, tool: "desk_look" }), true);
    await journal.record("two", does({ ...result, tool: "desk_look" }));
    await journal.record("three", does(reply));
    const { journal: again, events } = await world.crash().open("a");
    expect(events).toEqual([]);
    await again.record("one", does({ ...call, tool: "desk_look" }), true);
    await again.record("two", does({ ...result, tool: "desk_look" }));
    await again.record("three", does(call));
    await again.close();
    expect((await world.crash().read("a")).events).toHaveLength(3);
    world.close();
  });

  it("keeps replies whose sync had time to finish, although nothing waited for it", async () => {
    const world = openWorld();
    const journal = await world.store.create(recordOf("a"));
    await journal.record("one", does(reply));
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    const { journal: again, events } = await world.crash().open("a");
    expect(events.map((event) => event.type)).toEqual(["model:reply"]);
    await again.close();
    world.close();
  });

  it("keeps everything of a closed journal", async () => {
    const world = openWorld();
    delay = 5;
    const journal = await world.store.create(recordOf("a"));
    await journal.record("one", does(reply));
    await journal.record("two", does(warning("decided")));
    await journal.close();
    expect((await world.crash().read("a")).events).toHaveLength(2);
    world.close();
  });

  it("whose disk fails records nothing more, and reports nothing of it as stored", async () => {
    const world = openWorld();
    const journal = await world.store.create(recordOf("a"));
    await journal.record("one", does(call));
    fault = Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
    await journal.record("two", does(reply));
    await expect(journal.record("three", does({ ...call, id: "2" }))).rejects.toMatchObject({ code: "store.failed" });
    fault = undefined;
    await expect(journal.record("three", does(warning("later")))).rejects.toMatchObject({ code: "store.failed" });
    await expect(journal.close()).rejects.toMatchObject({ code: "store.failed" });
    const types = (await world.store.read("a")).events.map((event) => event.type);
    expect(types).toEqual(["tool:call", "model:reply"]);
    world.close();
  });

  describe.each([0, 2, 40])("at every record, with syncs that take %i turns of the event loop", (turns) => {
    beforeEach(() => {
      delay = turns;
    });

    describeKills(openWorld, LONG ? 1 : turns === 2 ? 12 : 24);
  });
});
