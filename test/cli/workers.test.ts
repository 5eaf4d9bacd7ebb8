import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openDatabase } from "../../src/stores/dbos/database.ts";
import { LONG } from "../harness/long.ts";
import { startChat } from "../services/chat.ts";
import { type EngineDatabase, startEngineDatabase, whyNoEngine } from "../services/engine.ts";
import { valuesIn } from "../services/prometheus-text.ts";
import { type Fleet, openFleet, workingAnswer } from "./fleet.ts";
import { FLOW } from "./flows.ts";
import { linesOf, makeProject } from "./program.ts";

const missing = whyNoEngine();
const RUNS = LONG ? 1000 : 12;
const PATIENCE_MS = LONG ? 1_800_000 : 60_000;
/** Runs make four writes; the model is asked six times. */
const WRITES = 4;
const ASKED = 6;

describe.skipIf(missing !== undefined)(`workers of one database${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let database: EngineDatabase;
  const open: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    database = await startEngineDatabase();
  });
  afterAll(async () => {
    for (const each of open.reverse()) await each.close();
    await database?.stop();
  });

  const openProject = async (answerMs: number, concurrency: number, onRequest: (nr: number) => unknown, files = {}) => {
    let requests = 0;
    const model = await startChat(async (body) => {
      await onRequest(++requests);
      if (answerMs > 0) await new Promise((resolve) => setTimeout(resolve, answerMs));
      return workingAnswer(body);
    });
    const cwd = makeProject({ "flow.yml": FLOW, ...files });
    const env = { OPENAI_BASE_URL: model.url };
    const fleet = openFleet({ cwd, url: database.url, env, concurrency, patienceMs: PATIENCE_MS });
    open.push(model, fleet);
    return { cwd, fleet, requests: () => requests };
  };

  const checkAll = async (fleet: Fleet, cwd: string, runs: readonly string[], killed: number, concurrency: number) => {
    const statuses = await fleet.statuses(runs);
    expect(runs.filter((run) => statuses.get(run) !== "succeeded")).toEqual([]);
    expect(await fleet.altered(runs)).toBe(0);
    const posts = linesOf(cwd, "posts.txt");
    // A write that was in progress when its worker was killed is in doubt, and not repeated.
    expect(posts.length - new Set(posts).size).toBe(0);
    expect(posts.length).toBeGreaterThanOrEqual(WRITES * runs.length - 2 * concurrency * killed);
    return posts.length;
  };

  it(
    `end ${RUNS} runs successfully while one worker after another is killed and replaced, and write nothing twice`,
    async () => {
      const concurrency = 8;
      const replacing: Promise<void>[] = [];
      const kill = () => replacing.push(fleet.replace());
      const isTime = (nr: number) => !LONG && (nr === (RUNS * ASKED) / 4 || nr === (RUNS * ASKED) / 2);
      const { cwd, fleet, requests } = await openProject(LONG ? 50 : 0, concurrency, (nr) => isTime(nr) && kill());
      const runs = await fleet.enqueue("killed", RUNS);
      await Promise.all(Array.from({ length: LONG ? 3 : 2 }, () => fleet.start()));
      const begun = performance.now();
      const timer = LONG ? setInterval(kill, 5000) : undefined;
      await fleet.idle().finally(() => clearInterval(timer));
      const seconds = (performance.now() - begun) / 1000;
      await Promise.all(replacing);
      await fleet.stop();
      const posts = await checkAll(fleet, cwd, runs, replacing.length, concurrency);
      const told = `${RUNS} runs, ${replacing.length} kills, ${requests()} model calls, ${posts} writes`;
      if (LONG) process.stdout.write(`${told}: ${seconds.toFixed(1)} s\n`);
      expect(replacing.length).toBeGreaterThanOrEqual(2);
    },
    PATIENCE_MS,
  );

  it(
    "share a rate: while one has the turn, the other waits for it",
    async () => {
      const rows = openDatabase(database.url);
      open.push(rows);
      const waitForBoth = async () => {
        const [found] = await rows.rows<{ readonly holders: number }>(
          "select count(distinct holder)::int as holders from skillflow.turns",
        );
        if (found?.holders !== 2) throw new Error(`${found?.holders} workers ask for a turn`);
      };
      let [underWay, most] = [0, 0];
      const onRequest = async (nr: number) => {
        underWay += 1;
        most = Math.max(most, underWay);
        if (nr === 1) await vi.waitFor(waitForBoth, { timeout: 20_000 });
        underWay -= 1;
      };
      const rates = { ".skillflow.yml": { rates: { models: { "openai-compatible:*": 1 } } } };
      const { fleet, requests } = await openProject(0, 1, onRequest, rates);
      const runs = await fleet.enqueue("rated", 2);
      await Promise.all([fleet.start(), fleet.start()]);
      await fleet.idle();
      const ended = (await fleet.metrics()).map(
        (text) => valuesIn(text, "skillflow_runs_total")["flow succeeded"] ?? 0,
      );
      expect(ended.reduce((sum, count) => sum + count)).toBe(2);
      await fleet.stop();
      expect([...(await fleet.statuses(runs)).values()]).toEqual(["succeeded", "succeeded"]);
      expect({ most, requests: requests() }).toEqual({ most: 1, requests: 2 * ASKED });
    },
    PATIENCE_MS,
  );

  it.runIf(LONG)(
    "complete more runs the more workers there are",
    async () => {
      const concurrency = 4;
      const { fleet } = await openProject(300, concurrency, () => undefined);
      const rates: number[] = [];
      for (const workers of [1, 2, 3]) {
        await fleet.start();
        const count = 24 * workers;
        const begun = performance.now();
        const runs = await fleet.enqueue(`carried-${workers}`, count);
        await fleet.idle();
        const seconds = (performance.now() - begun) / 1000;
        rates.push(count / seconds);
        process.stdout.write(`workers: ${workers}, runs: ${count}, ${(count / seconds).toFixed(2)} runs a second\n`);
        const statuses = await fleet.statuses(runs);
        expect(runs.filter((run) => statuses.get(run) !== "succeeded")).toEqual([]);
      }
      await fleet.stop();
      expect((rates[2] ?? 0) / (rates[0] ?? 1)).toBeGreaterThan(1.5);
    },
    PATIENCE_MS,
  );
});
