import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { RunResult } from "../../src/core/engine/result/result.ts";
import type { Script } from "../../src/core/outward/testing/script.ts";
import { runHere } from "../cli/in-process.ts";
import { runProgram } from "../cli/program.ts";
import { sliceOf } from "../harness/long.ts";
import { startAnthropic } from "../services/anthropic.ts";
import { startChat } from "../services/chat.ts";
import { startOpenai } from "../services/openai.ts";
import type { Scripted } from "../services/script.ts";
import { makeDesk } from "./triage-world.ts";

/** The built program, a model service that enforces its vendor's contract, and live tools: the triage workflow end to end. */

const root = join(import.meta.dirname, "..", "..");
const scratch = mkdtempSync(join(tmpdir(), "skillflow-live-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const script = parse(readFileSync(join(root, "workflows/incident-triage.script.yml"), "utf8")) as Script;

/** The program asks in the script's order, so the n-th request gets the n-th reply. */
function answer(_body: unknown, index: number): Scripted {
  const { choice, reasoning, verdict, data, text, calls } = script.replies[index] ?? {};
  if (choice !== undefined) return { text: JSON.stringify({ reason: reasoning, choice }) };
  if (verdict !== undefined) return { text: `VERDICT: ${verdict}\nREASONING: ${reasoning}` };
  if (data !== undefined) return { text: JSON.stringify(data) };
  return { ...(text ? { text } : {}), ...(calls ? { calls } : {}) };
}

const services = [
  [
    "anthropic:claude-sonnet-4-5",
    startAnthropic,
    "ANTHROPIC_BASE_URL",
    { ANTHROPIC_API_KEY: "key-for-the-test" },
    runProgram,
  ],
  ["openai:gpt-5", startOpenai, "OPENAI_BASE_URL", { OPENAI_API_KEY: "key-for-the-test" }, runHere],
  ["openai-compatible:local-model", startChat, "OPENAI_BASE_URL", {}, runHere],
] as const;

describe("the built program with a live model", () => {
  it.each(sliceOf(services))("triages the incident with %s", async (model, serve, variable, keys, start) => {
    const service = await serve(answer);
    const args = [
      ["run", "workflows/incident-triage.yml", "--json", "--quiet", "--no-discover"],
      ["--input", "@workflows/incidents/checkout-5xx/alert.json", "--model", model],
      ["--store", join(scratch, model.replace(":", "-"))],
    ].flat();
    const { stdout } = await start(args, { cwd: makeDesk(), env: { HOME: scratch, [variable]: service.url, ...keys } });
    await service.close();

    const result = JSON.parse(stdout) as RunResult;
    expect(result).toMatchObject({ status: "succeeded", verdict: "incident", evidence: { supported: 5, dropped: 0 } });
    expect(result.results.investigate?.data).toMatchObject({ file: "src/orders.js", line: 12, confidence: "high" });
    expect(result.plan.map(({ tool, refers }) => [tool, refers])).toEqual([
      ["create_issue", []],
      ["send_message", ["op-1"]],
    ]);
    const path = result.trace.steps.map((step) => step.node);
    expect(path).toEqual(["look", "investigate", "file", "link"]);
    expect(service.bodies).toHaveLength(script.replies.length);
    expect(result.usage.modelCalls).toBe(script.replies.length);
    const calls = Object.values(result.results).flatMap((node) => node.toolCalls);
    expect(calls.filter((call) => call.error !== undefined)).toEqual([]);
  });
});
