import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ended, lastLine } from "./measure.ts";

/** Programs that a user would choose instead, with their versions. Each is installed in its own folder. */

interface Packages {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

const ZOD = { zod: "4.6.7" };
const LANGGRAPH = {
  dependencies: { "@langchain/langgraph": "1.4.18", "@langchain/core": "1.2.13", ...ZOD },
  overrides: { "@langchain/langgraph-sdk": "1.12.0", "@langchain/protocol": "0.0.19" },
};

const PEERS = {
  flowcraft: { dependencies: { flowcraft: "2.10.1", ...ZOD } },
  mastra: { dependencies: { "@mastra/core": "0.24.9", ...ZOD } },
  ai: { dependencies: { ai: "6.0.326", ...ZOD } },
  agents: { dependencies: { "@openai/agents": "0.20.0", ...ZOD } },
  langgraph: LANGGRAPH,
  "langgraph-sqlite": adding(LANGGRAPH, { "@langchain/langgraph-checkpoint-sqlite": "1.0.4" }),
  "ai-hello": { dependencies: { ai: "6.0.326", "@ai-sdk/openai-compatible": "2.0.91", ...ZOD } },
  "langgraph-hello": adding(LANGGRAPH, { "@langchain/openai": "1.6.0" }),
  ripgrep: { dependencies: { "@vscode/ripgrep": "1.18.0" } },
} satisfies Readonly<Record<string, Packages>>;

export type Peer = keyof typeof PEERS;

function adding({ dependencies, ...rest }: Packages, more: Readonly<Record<string, string>>): Packages {
  return { dependencies: { ...dependencies, ...more }, ...rest };
}

/** Folder of a peer, or the reason why it cannot be installed. */
export type Place = { readonly folder: string } | { readonly why: string };

const places = new Map<Peer, Promise<Place>>();
const MOST_MS = 300_000;

/** Once for each of them. The installation of an earlier run of the bench is used again. */
export function placeOf(peer: Peer): Promise<Place> {
  const place = places.get(peer) ?? install(peer, PEERS[peer]);
  places.set(peer, place);
  return place;
}

async function install(peer: Peer, packages: Packages): Promise<Place> {
  const manifest = JSON.stringify({ private: true, type: "module", ...packages });
  const digest = createHash("sha256").update(manifest).digest("hex").slice(0, 12);
  const folder = join(tmpdir(), "skillflow-bench-peers", `${peer}-${digest}`);
  if (!existsSync(join(folder, "installed"))) {
    console.error(`installing ${peer} …`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), manifest);
    const args = ["install", "--no-audit", "--no-fund", "--prefer-offline"];
    const { code, output } = await ended(args, { cwd: folder, mostMs: MOST_MS }, "npm");
    if (code !== 0) return { why: `cannot be installed: ${firstError(output)}` };
    writeFileSync(join(folder, "installed"), "");
  }
  for (const name of readdirSync(PROGRAMS)) cpSync(join(PROGRAMS, name), join(folder, name));
  return { folder };
}

/** Programs for peers, which run in the peer's folder. */
export const PROGRAMS = "bench/peers";

function firstError(output: string): string {
  const line = output.split("\n").find((text) => /npm (error|ERR!) (?!code|A complete)/.test(text)) ?? lastLine(output);
  return line.replace(/^npm \S+ /, "").slice(0, 100);
}
