import { readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { RunQueue, Store } from "../../src/core/engine/ports.ts";
import { databaseBlobs } from "../../src/stores/dbos/blobs.ts";
import { type Database, openDatabase } from "../../src/stores/dbos/database.ts";
import { openEngine } from "../../src/stores/dbos/engine.ts";
import { type Locks, openLocks } from "../../src/stores/dbos/locks.ts";
import { databaseState } from "../../src/stores/dbos/states.ts";
import { dbosStore, openDbosStore } from "../../src/stores/dbos/store.ts";
import { skimRun } from "../../src/stores/file/run-skim.ts";
import { describeBlobs } from "../contracts/blobs.ts";
import { AT } from "../contracts/deltas.ts";
import { describeStates } from "../contracts/state.ts";
import { codeOf, describeStore, does, messages, warning } from "../contracts/store.ts";
import { recordOf } from "../contracts/triage.ts";
import { describeTurns } from "../contracts/turns.ts";
import { LONG, oneOf } from "../harness/long.ts";
import { type EngineDatabase, startEngineDatabase, whyNoEngine } from "../services/engine.ts";

const it = oneOf(4);

const missing = whyNoEngine();
const what = `the engine's store${missing === undefined ? "" : ` (skipped: ${missing})`}`;

describe.skipIf(missing !== undefined)(what, () => {
  let postgres: EngineDatabase;
  let database: Database;
  const opened: Locks[] = [];
  beforeAll(async () => {
    postgres = await startEngineDatabase();
    database = openDatabase(postgres.url);
  });
  afterAll(async () => {
    for (const locks of opened) await locks.close();
    await (await openEngine({ database, executor: "the tests", locks: openLocks(database, "the tests") })).close();
    await database.close();
    await postgres.stop();
  });

  /** The store as one process of this machine sees it, after another promise. */
  let pid = 0;
  const process = (before: Promise<unknown>): { readonly store: Store & RunQueue; readonly locks: Locks } => {
    const locks = openLocks(database, `process ${++pid}`);
    opened.push(locks);
    const rows: Database["rows"] = async (...query) => before.then(() => database.rows(...query));
    const later = Object.assign(Object.create(database) as Database, { rows });
    return { locks, store: dbosStore({ database: later, locks, self: { pid, host: "here", started: "1" } }) };
  };

  describeStore("of runs", { killsEvery: LONG ? 1 : 40 }, () => {
    const former = Promise.all(opened.splice(0).map((locks) => locks.close()));
    let now = process(former.then(() => database.rows(EMPTY)));
    return {
      get store() {
        return now.store;
      },
      crash() {
        now = process(now.locks.close());
        return now.store;
      },
      close: () => undefined,
    };
  });

  it("lets a process that counted as dead record nothing more", async () => {
    const [dead, next] = [process(Promise.resolve()), process(Promise.resolve())];
    const late = await dead.store.create(recordOf("overtaken"));
    await late.record("one", does(warning("1")));
    await dead.locks.close();
    const { journal } = await next.store.open("overtaken");
    expect(await codeOf(late.record("two", does(warning("late"))))).toBe("store.locked");
    await journal.record("one", does());
    await journal.record("two", does(warning("2")));
    expect(messages((await next.store.read("overtaken")).events)).toEqual(["1", "2"]);
    await journal.close();
  });

  it("refuses a run that was altered in the database", async () => {
    const { store } = process(Promise.resolve());
    const journal = await store.create(recordOf("altered"));
    await journal.record("one", does(warning("as it was")));
    await journal.close();
    await database.rows(
      `update skillflow_dbos.operation_outputs set output = replace(output, 'as it was', 'otherwise')
       where workflow_uuid = 'altered'`,
    );
    expect(await codeOf(store.read("altered"))).toBe("run.altered");
    expect((await store.verify("altered")).problems).toMatchObject([{ record: 2, line: 2 }]);
  });

  /** The skim of the same run as a file. */
  const skimmed = async (store: Store, run: string) => {
    const { record, events } = await store.read(run);
    const lines = [record, ...events].map((line) => `${JSON.stringify(line)}\n`);
    return skimRun(Buffer.from(lines.join("")), "a file", run);
  };

  it("lists as much of each run as its file would, and all idle ones with one query", async () => {
    const asked: string[] = [];
    const { store } = process(Promise.resolve());
    const reader = dbosStore({
      database: Object.assign(Object.create(database) as Database, {
        rows: (...query: Parameters<Database["rows"]>) => {
          asked.push(query[0]);
          return database.rows(...query);
        },
      }),
      locks: openLocks(database, "a reader"),
      self: { pid: 0, host: "here", started: "1" },
    });
    const runs = ["listed-1", "listed-2", "listed-3"];
    for (const run of runs) {
      const journal = await store.create(recordOf(run));
      await journal.record("one", does(warning("1"), warning("2")));
      await journal.close();
    }
    const found = await Promise.all(runs.map((run) => reader.skim(run)));
    expect(asked).toHaveLength(1);
    expect(found).toEqual(await Promise.all(runs.map((run) => skimmed(store, run))));
    const { journal } = await store.open("listed-2");
    await journal.record("one", does());
    await journal.record("two", does(warning("3")));
    expect(await reader.skim("listed-2")).toEqual(await skimmed(store, "listed-2"));
    await journal.close();
    expect((await reader.skim("listed-2")).events).toHaveLength(3);
    await expect(Promise.all([reader.skim("listed-1"), reader.skim("nowhere")])).rejects.toMatchObject({
      code: "run.unknown",
    });
  });

  it("returns only new events to followers of a run, across the processes that drive it", async () => {
    const { store } = process(Promise.resolve());
    const first = await store.create(recordOf("followed"));
    await first.record("one", does(warning("1"), warning("2")));
    const tail = store.tail("followed");
    expect(messages(await tail())).toEqual(["1", "2"]);
    expect(await tail()).toEqual([]);
    await first.close();
    const { journal } = await store.open("followed");
    await journal.record("one", does());
    await journal.record("two", does(warning("3")));
    expect(messages(await tail())).toEqual(["3"]);
    await journal.close();
  });

  it("names the process that drives a run to others that try to open it", async () => {
    const [first, second] = [process(Promise.resolve()), process(Promise.resolve())];
    const journal = await first.store.create(recordOf("wanted"));
    await expect(second.store.open("wanted")).rejects.toThrow(`run wanted is being driven by process ${pid - 1}`);
    await journal.close();
  });

  it("reports which database does not answer, without the password in its address", async () => {
    const nobody = openDbosStore("postgres://me:secret@127.0.0.1:1/runs", { pid: 1, host: "here", started: "1" });
    const error = await nobody.list().catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: "store.failed", message: expect.stringContaining("127.0.0.1:1/runs") });
    expect(String(error)).not.toContain("secret");
  });

  describeStates("states in Postgres", async () => {
    await database.rows("truncate skillflow.states");
    const open = () => databaseState(database, () => new Date(AT));
    return { store: open(), again: open };
  });

  describeTurns("turns in Postgres", () => process(Promise.resolve()).store.turns);

  it("gives the turns of a dead process to others", async () => {
    const [dead, next] = [process(Promise.resolve()), process(Promise.resolve())];
    const rate = { name: "of the dead", most: 1, perMs: undefined };
    const { signal } = new AbortController();
    await dead.store.turns.take(rate, signal, () => undefined);
    let [isWaiting, isDead] = [false, false];
    const turn = next.store.turns.take(rate, signal, () => {
      isWaiting = true;
      void dead.locks.close().then(() => {
        isDead = true;
      });
    });
    const giveBack = await turn;
    expect([isWaiting, isDead]).toEqual([true, true]);
    giveBack();
  });

  let run = 0;
  const blobsOf = (id: string) => databaseBlobs(database, id, { self: { pid: 1, host: "here", started: "1" } });
  it("returns no blob whose content was changed in the database", async () => {
    const { blob_id } = await blobsOf("changed").create(Buffer.from("hello"), "text/plain");
    await database.rows("update skillflow.blobs set content = 'other' where run = 'changed'");
    await expect(blobsOf("changed").read(blob_id, 0, 5)).rejects.toMatchObject({ code: "blob.unknown" });
  });

  it("stores a blob as a file for other programs", async () => {
    const blobs = blobsOf("read");
    const { blob_id } = await blobs.create(Buffer.from("hello"), "text/plain");
    const path = await blobs.file(blob_id);
    expect(readFileSync(path, "utf8")).toBe("hello");
    expect(await blobs.file(blob_id)).toBe(path);
    rmSync(dirname(path), { recursive: true });
  });

  describeBlobs("Postgres", (limits) =>
    databaseBlobs(database, `run-${++run}`, { self: { pid: 1, host: "here", started: "1" }, limits }),
  );
});

const EMPTY = `
  truncate skillflow.runs, skillflow.segments, skillflow.blobs, skillflow_dbos.workflow_status,
    skillflow_dbos.workflow_input, skillflow_dbos.workflow_output, skillflow_dbos.operation_outputs cascade`;
