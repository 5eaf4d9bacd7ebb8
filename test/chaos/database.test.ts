import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LONG, longer } from "../harness/long.ts";
import { type EngineDatabase, startEngineDatabase, whyNoEngine } from "../services/engine.ts";
import { type Dice, dice } from "./dice.ts";
import { type Grounds, openGrounds } from "./grounds.ts";
import { type Done, live } from "./life.ts";
import { instructionOf } from "./script.ts";
import { openWorld, type World } from "./world.ts";

const missing = LONG ? whyNoEngine() : "for the long forms";

/** Three nodes in a row, each of which reads, writes twice, and writes what may be repeated. */
const NODES = ["a", "b", "c"];
const FLOW = {
  ...{ id: "flow", name: "Flow", entry: "a" },
  nodes: Object.fromEntries(
    NODES.map((id) => {
      const turns = [
        [`ledger_look ${id}`, `ledger_post ${id}.1`],
        [`ledger_post ${id}.2`, `ledger_mark ${id}`],
      ];
      return [id, { name: id, skills: ["ledger"], instruction: instructionOf(id, { turns, answers: ["done"] }) }];
    }),
  ),
  edges: NODES.slice(1).map((to, index) => ({ from: NODES[index], to })),
};

interface Happening {
  readonly chance: Dice;
  readonly work: () => Promise<"killed" | "alive">;
}

describe.skipIf(missing !== undefined)(`runs of the engine dbos${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let grounds: Grounds;
  let database: EngineDatabase;
  let world: World;
  beforeAll(async () => {
    grounds = await openGrounds();
    database = await startEngineDatabase();
    world = await openWorld();
  });
  afterAll(async () => {
    await world?.close();
    await database?.stop();
    grounds?.close();
  });

  /** Runs a command, with a disturbance at later requests. */
  const type = async (id: string, argv: readonly string[], happens?: Happening) => {
    const cwd = grounds.folderOf(0);
    const engine = { SKILLFLOW_DATABASE_URL: database.url, PATH: process.env["PATH"] ?? "", HOME: grounds.home };
    const env = { ...engine, ...world.env(id) };
    const living = live(grounds, { tasks: [{ id, argv: [...argv, "--engine", "dbos", "--json"], cwd, env }] });
    const planNext = ({ chance, work }: Happening) => {
      const strike = async () => {
        if ((await work()) === "killed") {
          await living.kill();
          return "killed";
        }
        planNext({ chance, work });
        return "alive";
      };
      world.plan({ nth: 1 + chance.below(5), moment: chance.pick(["before", "after"]), strike });
    };
    if (happens) planNext(happens);
    const [done] = (await living.ended).done;
    world.plan(undefined);
    return done;
  };

  it.each([1, 2, 3, 4])(
    "whose database crashes and whose process is killed lose nothing, and repeat no write (%i)",
    async (seed) => {
      mkdirSync(grounds.folderOf(0), { recursive: true });
      writeFileSync(join(grounds.folderOf(0), "flow.yml"), JSON.stringify(FLOW));
      const chance = dice(seed);
      const id = `r${seed}`;
      const happened = { crashes: 0, kills: 0 };
      const work = async () => {
        const isCrash = chance.percent(60);
        happened[isCrash ? "crashes" : "kills"] += 1;
        if (isCrash) await database.crash();
        return isCrash ? "alive" : "killed";
      };
      const model = ["--model", "openai-compatible:test"];
      let done: Done | undefined = await type(id, ["run", "flow.yml", "--run-id", id, ...model], { chance, work });
      for (let lives = 0; lives < 12 && done?.code !== 0; lives++) {
        const told = { code: 4, stderr: expect.stringContaining("database") };
        if (done) expect(done, "the outcome of the run is printed").toMatchObject(told);
        const isThere = (await type(id, ["runs", "show", id]))?.code === 0;
        const argv = isThere ? ["resume", id] : ["run", "flow.yml", "--run-id", id, ...model];
        done = await type(id, argv, lives < 8 ? { chance, work } : undefined);
      }
      expect(happened.crashes + happened.kills).toBeGreaterThan(0);
      expect(done?.code, done?.stderr).toBe(0);
      const verified = await type(id, ["runs", "verify", id]);
      expect(verified, verified?.stdout).toMatchObject({ code: 0 });
      const posts = [...world.ledger(id).values()].filter(({ tool }) => tool === "post");
      expect(posts.map(({ times }) => times)).toEqual(posts.map(() => 1));
      const shown = await type(id, ["runs", "show", id]);
      const doubts = shown?.stdout.match(/"in doubt:/g)?.length ?? 0;
      expect(posts.length).toBeGreaterThanOrEqual(6 - doubts);
    },
    longer(60_000),
  );
});
