import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { answerHello } from "../hello-service.ts";
import { type Bench, interleave, succeeded } from "../measure.ts";
import type { Row } from "../results.ts";

const PROGRAM = resolve("dist/bin.js");
const TIME = "time";

/** The built program as a process: its resources from start to end. */
export const commandLine: Bench = {
  name: "command-line",
  title: "The command line",
  how: `The built program, as processes. A further node is what a chain of 210 nodes takes longer than one of 10, divided by 200, with a
provider on this machine that answers at once, and the journal on disk. The chain of 5,000 nodes has a scripted model.`,
  async measure(effort) {
    const rounds = effort.rounds(5);
    const folder = mkdtempSync(join(tmpdir(), "bench-command-line-"));
    const service = await answerHello();
    try {
      const store = await writeRuns(folder);
      const validated = resolve("workflows/incident-triage.yml");
      const measures: Readonly<Record<string, () => Promise<number>>> = {
        "node -e 0": async () => (await succeeded(["-e", "0"])).ms,
        "validate incident-triage.yml": async () => (await succeeded([PROGRAM, "validate", validated])).ms,
        "a further node": () => furtherNode(folder, { OPENAI_BASE_URL: service.url }),
        "listing 1,000 runs": async () =>
          (await succeeded([PROGRAM, "runs", "list", "--store", store], { cwd: folder })).ms,
      };
      const names = Object.keys(measures);
      const measured = await interleave(names, [TIME], rounds, async (name) => [(await measures[name]?.()) ?? 0]);
      const rows = names.map((name): Row => {
        const promise = PROMISES[name];
        const kind = promise ? "ours" : "limit";
        return { name, kind, cells: measured.get(name) ?? {}, ...(promise && { promises: { [TIME]: promise } }) };
      });
      return {
        columns: [{ name: TIME, unit: "ms", better: "less" }],
        rows: [...rows, await longChain(folder)],
        rounds,
      };
    } finally {
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

const PROMISES: Readonly<Record<string, { readonly most: number; readonly of?: string }>> = {
  "validate incident-triage.yml": { most: 3, of: "node -e 0" },
  "a further node": { most: 2 },
  "listing 1,000 runs": { most: 250 },
};

const SHORT = 10;
const LONG = 210;

/** A long chain compared with a short one. */
async function furtherNode(folder: string, env: Readonly<Record<string, string>>): Promise<number> {
  const model = ["--model", "openai-compatible:m", "--max-steps", String(LONG)];
  const run = (length: number) =>
    succeeded([PROGRAM, "run", writeChain(folder, length), ...model], { cwd: folder, env });
  const short = await run(SHORT);
  const long = await run(LONG);
  return (long.ms - short.ms) / (LONG - SHORT);
}

async function longChain(folder: string): Promise<Row> {
  const length = 5000;
  const bounds = ["--max-steps", String(length)];
  const model = ["--model", `script:${writeScript(folder, length)}`];
  const { ms } = await succeeded([PROGRAM, "run", writeChain(folder, length), ...model, ...bounds], { cwd: folder });
  const name = "a chain of 5,000 nodes with script:, once";
  return { name, kind: "ours", cells: { [TIME]: [ms] }, promises: { [TIME]: { most: 8000 } } };
}

/** A store of a thousand runs of ten nodes, as the program records them. */
async function writeRuns(folder: string): Promise<string> {
  const store = join(folder, "many");
  mkdirSync(store);
  const args = ["--model", `script:${writeScript(folder, SHORT)}`, "--run-id", "one"];
  await succeeded([PROGRAM, "run", writeChain(folder, SHORT), ...args], { cwd: folder });
  const [first = "", ...events] = readFileSync(join(folder, ".skillflow/runs/one.jsonl"), "utf8").split("\n");
  for (let n = 0; n < 1000; n++) {
    const record = { ...JSON.parse(first), run: `run-${n}` };
    writeFileSync(join(store, `run-${n}.jsonl`), [JSON.stringify(record), ...events].join("\n"));
  }
  return store;
}

export function writeScript(folder: string, length: number): string {
  const path = join(folder, `script-${length}.yml`);
  const replies = Array.from({ length }, () => ({ text: "It went as it should." }));
  writeFileSync(path, JSON.stringify({ replies }));
  return path;
}

export function writeChain(folder: string, length: number): string {
  const ids = Array.from({ length }, (_, index) => `n${index}`);
  const instruction = "Look at what came before, and say what comes next.";
  const workflow = {
    id: "chain",
    name: "Chain",
    entry: "n0",
    nodes: Object.fromEntries(ids.map((id) => [id, { name: id, instruction }])),
    edges: ids.slice(1).map((to, index) => ({ from: `n${index}`, to })),
  };
  const path = join(folder, `chain-${length}.json`);
  writeFileSync(path, JSON.stringify(workflow));
  return path;
}
