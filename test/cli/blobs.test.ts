import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import { startLoopback } from "../../src/testing.ts";
import { LONG } from "../harness/long.ts";
import { type ChatRequest, startChat } from "../services/chat.ts";
import type { Scripted } from "../services/script.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf, runProgram } from "./program.ts";

/** A large log with one line that states the cause. */

const CAUSE = "2026-11-20T03:14:07Z ERROR orders: connection pool exhausted after 30000 ms (max=5)";
const MEGABYTES = LONG ? 50 : 12;

function hugeLog(): string {
  const line = "2026-11-20T03:14:07Z INFO orders: request served in 12 ms, status 200\n";
  const lines = Array<string>(Math.ceil((MEGABYTES * 1024 * 1024) / line.length)).fill(line);
  lines[Math.floor(lines.length / 3)] = `${CAUSE}\n`;
  return lines.join("");
}

const FLOW = {
  id: "find-the-line",
  name: "Find the line",
  description: "One node that reads a log and one that has no skills.",
  entry: "read",
  nodes: {
    read: { name: "Read", instruction: "Find the error in the log.", skills: ["desk"] },
    tell: { name: "Tell", instruction: "Tell it." },
  },
  edges: [{ from: "read", to: "tell" }],
};

/** Answers of a model that reads only what it is shown. */
function findLine(address: string) {
  return (body: ChatRequest): Scripted => {
    const answers = body.messages.flatMap((message) => (message.role === "tool" ? [message.content] : []));
    const last = JSON.parse(answers.at(-1)?.replace(/^\[r\d+\]\n/, "") ?? "null") as {
      blob_id?: string;
      matches?: { text: string }[];
    } | null;
    if (!body.tools) return { text: "told" };
    if (!last) return { calls: [{ tool: "desk_fetch", input: { text: address } }] };
    if (last.matches) return { text: `Found: ${last.matches[0]?.text}` };
    return { calls: [{ tool: "search_blob", input: { blob_id: last.blob_id ?? "", query: "ERROR" } }] };
  };
}

async function runIt() {
  const log = hugeLog();
  const service = await startLoopback((_, response) => {
    response.end(log);
  });
  const model = await startChat(findLine(`${service.url}/orders.log`));
  const project = makeProject({ "flow.json": FLOW });
  const report = ["--report", "html=report.html"];
  const args = ["run", "flow.json", "--model", "openai-compatible:test", "--json", "--run-id", "r1", ...report];
  const ended = await runProgram(args, { cwd: project, env: { OPENAI_BASE_URL: model.url } });
  await Promise.all([service.close(), model.close()]);
  return { ended, model, project };
}

const resultsOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "tool:result" ? [event] : []));

describe("a log of many megabytes", () => {
  let run: Awaited<ReturnType<typeof runIt>>;
  beforeAll(async () => {
    run = await runIt();
  });

  it("costs a prompt a few hundred tokens, and its one line is found", () => {
    const { ended, model, project } = run;
    expect(ended).toMatchObject({ code: 0 });
    expect(resultOf(ended).results.read?.data).toEqual({ summary: `Found: ${CAUSE}` });

    const [first = 0, second = 0, third = 0] = model.sizes;
    expect(second - first).toBeLessThan(4000);
    expect(third - second).toBeLessThan(1500);

    const [fetched, found] = resultsOf(readEvents(project, "r1"));
    const [blob] = fetched?.blobs ?? [];
    expect(blob).toMatchObject({ kind: "text/plain", size_bytes: expect.any(Number) });
    expect(found?.output).toMatchObject({ total: 1, matches: [{ text: CAUSE }] });
    const file = join(project, ".skillflow/runs/r1.blobs", (blob?.blob_id ?? "").slice("blob:".length));
    expect(readFileSync(file).length).toBe(blob?.size_bytes);
    expect(readFileSync(join(project, "report.html"), "utf8")).toContain("r1.blobs/");
  });

  it("adds tools only if a tool can return a blob, and only once there is one", () => {
    const offered = run.model.bodies.map((body) => body.tools?.map((tool) => tool.function.name) ?? []);
    const [before, after, , without] = offered;
    expect(before).not.toContain("read_blob");
    expect(after?.filter((name) => name.endsWith("_blob"))).toEqual(["read_blob", "search_blob"]);
    expect(without).toEqual([]);
  });

  it("is replayed without the blob", async () => {
    const { project } = run;
    const replay = await runHere(["replay", "r1", "--json", "--run-id", "r2"], { cwd: project });
    expect(replay.code).toBe(0);
    expect(resultOf(replay).results.read?.data).toEqual({ summary: `Found: ${CAUSE}` });
    expect(existsSync(join(project, ".skillflow/runs/r2.blobs"))).toBe(false);
  });
});
