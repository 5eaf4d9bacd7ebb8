import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Operation } from "../../src/core/engine/event/operation.ts";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** A project whose workflow plans writes to a sink, which keeps a file of what was written. */

export const SINK = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineSkill, defineTool, NothingDone } from "skillflow";
const schema = {
  type: "object",
  properties: { title: { type: "string" }, link: { type: "string", pattern: "^https" }, count: { type: "integer" } },
  required: ["title"],
  additionalProperties: false,
};
const carryOut = (once) => (input, context) => {
  const file = join(context.workDir, "written.txt");
  const written = existsSync(file) ? readFileSync(file, "utf8").split("\\n") : [];
  if (once && written.some((line) => line.startsWith(context.callId))) return { url: "https://sink/" + input.title, existing: true };
  if (input.title.startsWith("boom")) throw new NothingDone(input.title);
  if (input.title === "die first" && !written.includes("died")) {
    appendFileSync(file, "died\\n");
    process.kill(process.pid, "SIGKILL");
  }
  appendFileSync(file, context.callId + " " + JSON.stringify(input) + "\\n");
  if (input.title === "die after" && !written.includes("died")) {
    appendFileSync(file, "died\\n");
    process.kill(process.pid, "SIGKILL");
  }
  if (input.title.startsWith("500")) throw new Error("the service answered 500");
  return { url: "https://sink/" + input.title, number: 7 };
};
export default defineSkill({
  id: "sink", name: "Sink", description: "files things", category: "general",
  config: { SINK_TOKEN: { description: "a token", env: "SINK_TOKEN", required: true } },
  tools: [
    defineTool({ name: "file", description: "files", effect: "write", input_schema: schema, handler: carryOut(false) }),
    defineTool({ name: "put", description: "puts", effect: "write", idempotent: true, input_schema: schema, handler: carryOut(true) }),
  ],
});
`;
export const WORKFLOW = `
id: w
name: W
entry: a
writes: plan
inputs: { n: { type: number } }
nodes:
  a: { name: A, instruction: File it., skills: [sink] }
edges: []
`;
export const ENV = { SINK_TOKEN: "a-token-of-the-sink", SKILLFLOW_TRUST_SKILL: "sink", USER: "kim" };

export interface Wanted {
  readonly tool?: "file" | "put";
  readonly title: string;
  readonly link?: string;
  readonly count?: unknown;
}

export function scriptOf(wanted: readonly Wanted[]) {
  const calls = wanted.map(({ tool = "file", ...input }) => ({ tool: `sink_${tool}`, input }));
  return { replies: [...calls.map((call) => ({ calls: [call] })), { text: "done" }] };
}

/** A run that planned these operations. */
export async function plannedRun(...wanted: readonly Wanted[]) {
  const cwd = makeProject({ "w.yml": WORKFLOW, "s.json": scriptOf(wanted), "skills/sink/skill.ts": SINK });
  const { stdout, code } = await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r", "--json"], {
    cwd,
    env: ENV,
  });
  expect(code).toBe(0);
  const { plan } = JSON.parse(stdout) as { plan: Operation[] };
  return {
    cwd,
    plan,
    written: () => linesOf(cwd),
    async apply(...args: string[]) {
      const done = await runHere(["apply", "r", "--json", ...args], { cwd, env: ENV });
      return { ...done, told: toldBy(done.stdout) };
    },
  };
}

export function linesOf(cwd: string): string[] {
  const file = join(cwd, "written.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

export interface Told {
  readonly exitCode: number;
  readonly operations: readonly { id: string; status: string; result?: unknown; existing?: boolean; error?: string }[];
}

export function toldBy(stdout: string): Told {
  return stdout === "" ? { exitCode: -1, operations: [] } : (JSON.parse(stdout) as Told);
}

export const statusesOf = ({ operations }: Told) => operations.map(({ status }) => status);
