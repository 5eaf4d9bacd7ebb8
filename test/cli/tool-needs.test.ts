import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runFile } from "./program.ts";

/** A tool that needs more config than its skill is left out alone. */

const WORKFLOW =
  "id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: Tell them., skills: [slack] }\nedges: []\n";
const SCRIPT = { replies: [{ text: "told" }] };

async function look(env: Readonly<Record<string, string>>) {
  const cwd = makeProject({ "w.yml": WORKFLOW, "s.json": SCRIPT });
  const { stdout } = await runHere(["doctor", "w.yml", "--json"], { cwd, env });
  await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r"], { cwd, env });
  const record = JSON.parse(readFileSync(runFile(cwd, "r"), "utf8").split("\n")[0] ?? "") as RunRecord;
  const { skills } = JSON.parse(stdout) as { skills: { tools: { name: string; state: string; reason: string }[] }[] };
  return { offered: record.skills[0]?.tools.map((tool) => tool.exposed), told: skills[0]?.tools };
}

describe("a tool with its own requirements", () => {
  const webhook = { SLACK_WEBHOOK_URL: "http://127.0.0.1:1/hook" };

  it("is not offered without them, and doctor reports what is missing", async () => {
    const { offered, told } = await look(webhook);
    expect(offered).toEqual(["slack_send_message"]);
    expect(told).toContainEqual({
      name: "slack_update_message",
      state: "not_configured",
      reason: "SLACK_BOT_TOKEN is not set",
    });
    expect(told).toContainEqual({ name: "slack_send_message", state: "configured", reason: null });
  });

  it("is offered with them", async () => {
    const { offered } = await look({ ...webhook, SLACK_BOT_TOKEN: "xoxb-0123456789" });
    expect(offered).toEqual(expect.arrayContaining(["slack_send_message", "slack_send_thread_reply"]));
    expect(offered).not.toContain("slack_search_messages");
  });

  it("makes no other option of its skill required: a bot's token is enough without a webhook", async () => {
    const { offered } = await look({ SLACK_BOT_TOKEN: "xoxb-0123456789" });
    expect(offered).toContain("slack_send_message");
  });
});
