import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { answerHello } from "../hello-service.ts";
import { type Bench, type Contestant, ended, interleave, lastLine, succeeded, type Values } from "../measure.ts";
import { type Peer, PROGRAMS, placeOf } from "../peers.ts";
import type { Cell } from "../results.ts";

const COLUMNS = ["start", "first model request", "peak at it"];
const INSTALL = "install";

/** From the start to the first request of a model, and the size of the installation. */
export const start: Bench = {
  name: "start",
  title: "Start-up and size",
  how: `The smallest program that asks a model to say hello, as a process of its own. *start* is \`skillflow --help\`, and with the others, which
have no command, a program that imports them and ends. *first model request* is from the start of the process until a service on this
machine is asked; *peak* is the memory of the process at that moment. *install* is what \`npm install\` of it leaves in an empty project, in
blocks of the disk; with ours zod and the types of Node, with the others zod and what speaks to a provider. Bare Node and \`fetch\` are the limit.`,
  async measure(effort) {
    const rounds = effort.rounds(5);
    const folder = mkdtempSync(join(tmpdir(), "bench-start-"));
    const service = await answerHello();
    try {
      const env = { OPENAI_BASE_URL: service.url, OPENAI_API_KEY: "key" };
      const workflow = join(folder, "hello.json");
      writeFileSync(workflow, JSON.stringify(HELLO));
      const measured = await interleave(CONTESTANTS, COLUMNS, rounds, async (one): Promise<Values> => {
        const place = one.peer ? await placeOf(one.peer) : { folder };
        if ("why" in place) return place.why;
        const begun = await ended([...one.start], { cwd: place.folder, mostMs: 60_000 });
        if (begun.code !== 0) return `failed: ${lastLine(begun.output)}`;
        const asked = service.nextRequest();
        const hello = await ended([...one.hello(workflow)], {
          cwd: place.folder,
          env,
          mostMs: 60_000,
          onSpawn: asked.from,
        });
        if (hello.code !== 0) return `failed: ${lastLine(hello.output)}`;
        const { ms, megabytes } = asked.seen();
        return [begun.ms, ms, megabytes];
      });
      const sizes = await installSizes(folder);
      const rows = CONTESTANTS.map(({ peer: _peer, start: _start, hello: _hello, ...row }, index) => {
        const own = measured.get(CONTESTANTS[index] as Program) ?? {};
        return { ...row, cells: { ...own, [INSTALL]: sizes[index] ?? "–" } };
      });
      const columns = COLUMNS.map((name, index) => ({ name, unit: index < 2 ? "ms" : "MB", better: "less" as const }));
      return { columns: [...columns, { name: INSTALL, unit: "MB", better: "less" }], rows, rounds };
    } finally {
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

interface Program extends Contestant {
  readonly peer?: Peer;
  readonly start: readonly string[];
  readonly hello: (workflow: string) => readonly string[];
}

const OURS = resolve("dist/bin.js");
const imports = (name: string) => ["--input-type=module", "--eval", `import ${JSON.stringify(name)}`];

const CONTESTANTS: readonly Program[] = [
  {
    name: "bare Node",
    kind: "limit",
    start: ["--eval", "0"],
    hello: () => [resolve(PROGRAMS, "hello-fetch.mjs")],
  },
  {
    name: "skillflow",
    kind: "ours",
    start: [OURS, "--help"],
    hello: (workflow) => [OURS, "run", workflow, "--model", "openai-compatible:m"],
    promises: {
      start: { most: 1.15, of: "bare Node" },
      "first model request": { most: 100 },
      install: { most: 20 },
    },
  },
  peerRow("Vercel AI SDK 6.0.326", "ai-hello", "ai", "ai"),
  peerRow("OpenAI Agents 0.20.0", "agents", "agents", "@openai/agents"),
  peerRow("LangGraph 1.4.18", "langgraph-hello", "langgraph", "@langchain/langgraph"),
  peerRow("Mastra 0.24.9, an agent", "mastra", "mastra", "@mastra/core/agent"),
];

function peerRow(name: string, peer: Peer, program: string, library: string): Program {
  return { name, kind: "peer", peer, start: imports(library), hello: () => [`hello-${program}.mjs`] };
}

const HELLO = {
  id: "hello",
  name: "Hello",
  entry: "hello",
  nodes: { hello: { name: "Hello", instruction: "Say hello." } },
  edges: [],
};

/** In the order of the contestants. */
async function installSizes(folder: string): Promise<readonly Cell[]> {
  const sizes: Cell[] = [];
  for (const { kind, peer } of CONTESTANTS) {
    if (kind === "limit") sizes.push("–");
    else sizes.push(await (peer ? placeOf(peer) : installOurs(folder)).then(sizeOf, failed));
  }
  return sizes;
}

const failed = (error: unknown) => `failed: ${lastLine(String(error))}`;

function sizeOf(place: { readonly folder: string } | { readonly why: string }): Cell {
  return "why" in place ? place.why : [(blocksOf(join(place.folder, "node_modules")) * 512) / 1e6];
}

/** Installs the current build, as npm packs it, in an empty project. */
async function installOurs(folder: string) {
  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "empty", private: true }));
  await succeeded(["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: resolve(".") }, "npm");
  const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  await succeeded(["install", join(folder, tarball), "--no-audit", "--no-fund"], { cwd: project }, "npm");
  return { folder: project };
}

function blocksOf(path: string): number {
  const { blocks } = lstatSync(path);
  if (!lstatSync(path).isDirectory()) return blocks;
  return readdirSync(path).reduce((sum, name) => sum + blocksOf(join(path, name)), blocks);
}
