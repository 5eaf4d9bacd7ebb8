import type { ChildProcess } from "node:child_process";
import { existsSync, watch } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { LONG, longer, sliceOf } from "../harness/long.ts";
import { type ChatRequest, startChat } from "../services/chat.ts";
import type { Scripted } from "../services/script.ts";
import { runHere } from "./in-process.ts";
import { type Ended, linesOf, makeProject, readEvents, resultOf, runFile, runProgram } from "./program.ts";

/** Six nodes in a row and a loop over them, each with reads side by side, a mark and a post. */
const NODES = ["a", "b", "c", "d"];
const CHAIN = `
id: chain
name: Chain
entry: a
nodes:
${NODES.map((id) => `  ${id}: { name: ${id}, instruction: "You are at ${id}.", skills: [desk] }`).join("\n")}
edges:
${NODES.slice(1)
  .map((id, index) => `  - { from: ${NODES[index]}, to: ${id} }`)
  .join("\n")}
  - { from: d, to: b, when: once more, max_iterations: 1 }
`;

const TURNS: readonly Scripted[] = [
  { calls: [{ tool: "desk_look" }, { tool: "desk_look" }, { tool: "desk_fail" }] },
  { calls: [{ tool: "desk_mark" }, { tool: "desk_post" }, { tool: "desk_look" }] },
  { calls: [{ tool: "desk_post" }, { tool: "desk_post" }] },
  { text: "done here" },
];

/** The answer depends on the prompt alone. */
function answer({ messages }: ChatRequest): Scripted {
  const [first] = messages;
  if (String(first?.content).includes("Choices:")) return { text: '{"reason":"it is due","choice":"b"}' };
  const turns = messages.filter((message) => message.role === "assistant").length;
  return TURNS[turns] ?? { text: "done here" };
}

const RUN = ["run", "chain.yml", "--model", "openai-compatible:test", "--run-id", "r", "--json"];

/** A random number generator with a seed: the same numbers in each run of the tests. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/** Kills a process at its nth request to the model, or after n writes to its journal. */
interface Reaper {
  onRequest(): void;
  onStart(child: ChildProcess): void;
  close(): void;
}

function reaper(cwd: string, kind: "request" | "record", count: number): Reaper {
  let left = count;
  let child: ChildProcess | undefined;
  const strike = () => {
    left -= 1;
    if (left === 0) child?.kill("SIGKILL");
  };
  const folder = dirname(runFile(cwd, "r"));
  const watcher =
    kind === "record" && existsSync(folder)
      ? watch(folder, (_event, name) => (name?.endsWith(".jsonl") ? strike() : undefined))
      : undefined;
  return {
    onRequest: () => (watcher ? undefined : strike()),
    onStart: (started) => {
      child = started;
    },
    close: () => watcher?.close(),
  };
}

const MOST_KILLS = LONG ? 12 : 4;

describe("a run of the built program", () => {
  it.each(sliceOf([1, 2]))(
    "that is killed again and again ends as if it had not been killed (%i)",
    async (seed) => {
      const files = { "chain.yml": CHAIN };
      const [calm, wild] = [makeProject(files), makeProject(files)];
      let current: Reaper | undefined;
      const service = await startChat((body) => {
        current?.onRequest();
        return answer(body);
      });
      const env = { OPENAI_BASE_URL: service.url };
      const undisturbed = await runHere(RUN, { cwd: calm, env });
      expect(undisturbed.code).toBe(0);

      const roll = dice(seed);
      let kills = 0;
      let ended: Ended | undefined;
      for (let tries = 0; tries <= MOST_KILLS && ended?.code !== 0; tries++) {
        current = tries < MOST_KILLS ? reaper(wild, roll(2) ? "record" : "request", 1 + roll(4)) : undefined;
        const args = existsSync(runFile(wild, "r")) ? ["resume", "r", "--json"] : RUN;
        ended = await runProgram(args, { cwd: wild, env, ...(current ? { onStart: current.onStart } : {}) });
        if (ended.signal === "SIGKILL") kills += 1;
        else expect(ended).toMatchObject({ code: 0 });
        current?.close();
      }
      await service.close();
      expect(kills).toBeGreaterThan(MOST_KILLS / 3);
      expect(ended?.code).toBe(0);
      if (!ended) return;
      const [result, expected] = [resultOf(ended), resultOf(undisturbed)];
      expect({ ...result.trace, sources: {} }).toEqual({ ...expected.trace, sources: {} });
      expect(summaries(result)).toEqual(summaries(expected));
      expect(result.usage.modelCalls).toBe(expected.usage.modelCalls);

      const posts = linesOf(wild, "posts.txt");
      expect(new Set(posts).size, "no post happened twice").toBe(posts.length);
      const results = readEvents(wild, "r").filter((event) => event.type === "tool:result");
      const certain = results.filter((event) => event.tool === "desk_post" && event.error === undefined);
      expect(posts).toEqual(expect.arrayContaining(certain.map((event) => `r/${event.id}`)));
      const doubts = results.filter((event) => event.error?.startsWith("in doubt"));
      expect(certain.length + doubts.length).toBe(linesOf(calm, "posts.txt").length);
      expect(new Set(linesOf(wild, "marks.txt"))).toEqual(new Set(linesOf(calm, "marks.txt")));
      expect(new Set(linesOf(wild, "looks.txt"))).toEqual(new Set(linesOf(calm, "looks.txt")));
    },
    longer(90_000),
  );
});

function summaries({ results }: ReturnType<typeof resultOf>) {
  return Object.entries(results).map(([node, { status, data, toolCalls }]) => ({
    node,
    status,
    data,
    calls: toolCalls.map((call) => call.tool),
  }));
}
