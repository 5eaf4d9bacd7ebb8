import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { atifFaults } from "../services/atif.ts";
import { type ReceivedSpan, startCollector } from "../services/otlp.ts";
import { FLOW, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runFile } from "./program.ts";

const ROOT = join(import.meta.dirname, "../..");
const CANARY = "canary-of-the-content-81f2";
const files = {
  "flow.yml": FLOW.replace("Look at the desk.", `Look at the desk. ${CANARY}-instruction`),
  "script.json": JSON.stringify(WORKING)
    .replace("it is broken", `it is broken ${CANARY}-answer`)
    .replace('"text":"a"', `"text":"${CANARY}-argument"`),
};
const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id"];

type Collector = Awaited<ReturnType<typeof startCollector>>;
const started: Collector[] = [];
afterEach(async () => {
  for (const collector of started.splice(0)) await collector.close();
});
async function collect(...answers: Parameters<typeof startCollector>): Promise<Collector> {
  const collector = await startCollector(...answers);
  started.push(collector);
  return collector;
}

/** The spans as a tree of names. */
function treeOf(spans: readonly ReceivedSpan[], parent = ""): unknown[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .map(({ name, spanId }) => {
      const inner = treeOf(spans, spanId);
      return inner.length === 0 ? name : [name, ...inner];
    });
}

const plain = (spans: readonly ReceivedSpan[]) =>
  JSON.parse(JSON.stringify(spans, (_, value) => (typeof value === "bigint" ? String(value) : value)));

describe("a run that ends with SKILLFLOW_OTLP_URL set", () => {
  it("nests inner runs below the visits that ran them, also if they ran side by side", async () => {
    const collector = await collect();
    const look = { nodes: { look: { name: "Look", instruction: "Look." } }, edges: [], entry: "look" };
    const each = { name: "Each", map: { over: "input.list", as: "it", key: "it", concurrency: 2 }, ...look };
    const after = { name: "After", instruction: "Sum up." };
    const flow = { id: "w", name: "W", entry: "each", nodes: { each, after }, edges: [{ from: "each", to: "after" }] };
    const replies = ["a", "b", "c"].map((text) => ({ text }));
    const cwd = makeProject({ "w.json": flow, "s.json": { replies } });
    const run = ["run", "w.json", "--model", "script:s.json", "--input", '{"list":["x","y"]}'];
    const { code } = await runHere(run, { cwd, env: { SKILLFLOW_OTLP_URL: collector.url } });
    expect([code, collector.faults]).toEqual([0, []]);
    expect(treeOf(collector.spans)).toEqual([
      [
        "invoke_workflow W",
        ["invoke_agent Each", ["invoke_agent Look", "chat s.json"], ["invoke_agent Look", "chat s.json"]],
        ["invoke_agent After", "chat s.json"],
      ],
    ]);
    // The keys of items are content.
    const places = collector.spans.flatMap(({ attributes }) => attributes["skillflow.at"] ?? []);
    expect(places.sort()).toEqual(["each[0]", "each[0]", "each[1]", "each[1]"]);
  });

  it("is exported as nested spans that follow the GenAI conventions", async () => {
    const collector = await collect();
    const cwd = makeProject(files);
    const { code } = await runHere([...RUN, "r"], { cwd, env: { SKILLFLOW_OTLP_URL: collector.url } });
    expect([code, collector.faults]).toEqual([0, []]);
    expect(treeOf(collector.spans)).toEqual([
      [
        "invoke_workflow Look and post",
        ["invoke_agent Look", "chat script.json", "execute_tool desk_look", "chat script.json"],
        ["invoke_agent Post", "chat script.json", "execute_tool desk_post", "chat script.json"],
      ],
    ]);
    const byId = new Map(collector.spans.map((span) => [span.spanId, span]));
    expect(byId.size).toBe(collector.spans.length);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
    for (const span of collector.spans) {
      const parent = byId.get(span.parentSpanId);
      if (parent)
        expect([span.name, span.start >= parent.start, span.end <= parent.end]).toEqual([span.name, true, true]);
    }
  });

  it("is exported with its usage, its cost and its nodes", async () => {
    const collector = await collect();
    await runHere([...RUN, "r"], { cwd: makeProject(files), env: { SKILLFLOW_OTLP_URL: collector.url } });
    const [root, agent, chat, tool] = collector.spans;
    expect(root).toMatchObject({
      kind: 1,
      attributes: {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "Look and post",
        "gen_ai.conversation.id": "r",
        "skillflow.run": "r",
        "skillflow.kind": "run",
        "skillflow.status": "succeeded",
        "skillflow.degraded": false,
        "skillflow.cost_usd": 0,
      },
      status: {},
    });
    expect(agent?.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "Look",
      "skillflow.node": "look",
      "skillflow.visit": 1,
      "skillflow.status": "success",
    });
    expect(chat).toMatchObject({
      kind: 3,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "script",
        "gen_ai.request.model": "script.json",
        "gen_ai.response.finish_reasons": ["tool_call"],
        "gen_ai.usage.input_tokens": 0,
        "gen_ai.usage.output_tokens": 28,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "skillflow.node": "look",
        "skillflow.purpose": "work",
      },
    });
    expect(tool?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "desk_look",
      "skillflow.skill": "desk",
      "skillflow.ref": "r1",
    });
  });

  it("has the same spans when it is exported later", async () => {
    const [live, later] = [await collect(), await collect()];
    const cwd = makeProject(files);
    await runHere([...RUN, "r"], { cwd, env: { SKILLFLOW_OTLP_URL: live.url } });
    const { code, stderr } = await runHere(["runs", "export", "r", "--otlp", later.url], { cwd });
    expect([code, stderr]).toEqual([0, "9 spans sent\n"]);
    expect(plain(later.spans)).toEqual(plain(live.spans));
  });

  it("exports no name of a tool that the model invented, whatever became of the call", async () => {
    const collector = await collect();
    const node = { name: "Look", instruction: "Look.", max_turns: 1 };
    const flow = { id: "w", name: "W", entry: "look", nodes: { look: node }, edges: [] };
    const script = { replies: [{ calls: [{ tool: `tell_${CANARY}` }] }] };
    const cwd = makeProject({ "w.json": flow, "s.json": script });
    const env = { SKILLFLOW_OTLP_URL: collector.url };
    await runHere(["run", "w.json", "--model", "script:s.json"], { cwd, env });
    expect(collector.spans.map(({ name }) => name)).toContain("execute_tool unknown");
    expect(JSON.stringify(plain(collector.spans))).not.toContain(CANARY);
  });

  it("exports what was applied after its end", async () => {
    const collector = await collect();
    const cwd = makeProject(files);
    await runHere([...RUN, "r", "--writes", "plan"], { cwd });
    expect(await runHere(["apply", "r", "--yes"], { cwd })).toMatchObject({ code: 0 });
    expect((await runHere(["runs", "export", "r", "--otlp", collector.url], { cwd })).code).toBe(0);
    expect(collector.faults).toEqual([]);
    const applied = collector.spans.filter(({ attributes }) => attributes["skillflow.applied"] === true);
    expect(applied).toEqual([
      expect.objectContaining({
        name: "execute_tool desk_post",
        attributes: expect.objectContaining({ "skillflow.node": "post", "gen_ai.tool.name": "desk_post" }),
      }),
    ]);
  });

  it("exports contents only if requested", async () => {
    const [quiet, telling] = [await collect(), await collect()];
    const cwd = makeProject(files);
    await runHere([...RUN, "a"], { cwd, env: { SKILLFLOW_OTLP_URL: quiet.url } });
    await runHere([...RUN, "b", "--otlp-content"], { cwd, env: { SKILLFLOW_OTLP_URL: telling.url } });
    expect(JSON.stringify(plain(quiet.spans))).not.toContain(CANARY);
    const told = JSON.stringify(plain(telling.spans));
    for (const part of ["instruction", "answer", "argument"]) expect(told).toContain(`${CANARY}-${part}`);
    expect(telling.faults).toEqual([]);
    const second = telling.spans.filter(({ name }) => name.startsWith("chat"))[1];
    expect(
      JSON.parse(String(second?.attributes["gen_ai.input.messages"])).map(({ role }: { role: string }) => role),
    ).toEqual(expect.arrayContaining(["user", "assistant", "tool"]));
    expect(JSON.parse(String(second?.attributes["gen_ai.output.messages"]))).toEqual([
      { role: "assistant", parts: [{ type: "text", content: `it is broken ${CANARY}-answer` }], finish_reason: "stop" },
    ]);
  });

  it("sends the headers of OpenTelemetry's variable, which are secrets", async () => {
    const collector = await collect();
    const secret = "Bearer header-secret-5f1d7c";
    const env = {
      SKILLFLOW_OTLP_URL: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=${encodeURIComponent(secret)}, x-team = ops`,
    };
    const cwd = makeProject({
      ...files,
      "script.json": JSON.stringify(WORKING).replace("it is broken", `the key is ${secret}`),
    });
    const { stdout } = await runHere([...RUN, "r", "--json"], { cwd, env });
    expect(collector.requests[0]?.headers).toMatchObject({ authorization: secret, "x-team": "ops" });
    expect(stdout + readFileSync(runFile(cwd, "r"), "utf8")).not.toContain("header-secret");
  });

  it.each([
    ["refuses it", [{ status: 400 }], /answered 400/],
    ["takes a part of it", [{ body: { partialSuccess: { rejectedSpans: "2" } } }], /rejected 2 of the spans/],
    ["leads elsewhere", [{ status: 307, headers: { location: "http://127.0.0.1:9/x" } }], /answered 307/],
  ])("warns and keeps its exit code if the service %s", async (_, answers, warning) => {
    const collector = await collect(answers);
    const cwd = makeProject(files);
    const { code, stderr } = await runHere([...RUN, "r", "--quiet"], {
      cwd,
      env: { SKILLFLOW_OTLP_URL: collector.url },
    });
    expect([code, stderr]).toEqual([0, expect.stringMatching(warning)]);
    const again = await collect(answers);
    expect((await runHere(["runs", "export", "r", "--otlp", again.url], { cwd })).code).toBe(4);
  });

  it("warns if there is no answer, and does not print the address, which may contain a secret", async () => {
    const gone = await startCollector();
    await gone.close();
    const url = gone.url.replace("http://", "http://me:password-in-the-url@");
    const { code, stderr } = await runHere([...RUN, "r"], {
      cwd: makeProject(files),
      env: { SKILLFLOW_OTLP_URL: url },
    });
    expect([code, stderr]).toEqual([0, expect.stringContaining("cannot be reached")]);
    expect(stderr).not.toContain("password-in-the-url");
  });

  it("retries if the service allows it", async () => {
    const collector = await collect([{ status: 503 }, { status: 429 }]);
    const { code, stderr } = await runHere([...RUN, "r", "--quiet"], {
      cwd: makeProject(files),
      env: { SKILLFLOW_OTLP_URL: collector.url },
    });
    expect([code, stderr, collector.requests.length, collector.spans.length]).toEqual([0, "", 3, 9]);
  });

  it("sends nothing with --offline", async () => {
    const collector = await collect();
    const cwd = makeProject(files);
    await runHere([...RUN, "r", "--offline"], { cwd, env: { SKILLFLOW_OTLP_URL: collector.url } });
    expect(collector.requests).toEqual([]);
  });

  it("exports for a resumed run what the resume added, and later both in one trace", async () => {
    const [live, later] = [await collect(), await collect()];
    const cwd = makeProject(files);
    const env = { SKILLFLOW_OTLP_URL: live.url };
    expect((await runHere([...RUN, "r", "--max-steps", "1"], { cwd, env })).code).toBe(5);
    const first = live.spans.length;
    expect((await runHere(["resume", "r", "--max-steps", "5"], { cwd, env })).code).toBe(0);
    const parts = [live.spans.slice(0, first), live.spans.slice(first)];
    expect(parts.map((spans) => treeOf(spans))).toEqual([
      [
        [
          "invoke_workflow Look and post",
          ["invoke_agent Look", expect.anything(), expect.anything(), expect.anything()],
        ],
      ],
      [
        [
          "invoke_workflow Look and post",
          ["invoke_agent Post", expect.anything(), expect.anything(), expect.anything()],
        ],
      ],
    ]);
    expect(parts[0]?.[0]).toMatchObject({
      status: { code: 2 },
      attributes: { "error.type": "limit.reached", "skillflow.status": "stopped" },
    });
    await runHere(["runs", "export", "r", "--otlp", later.url], { cwd });
    expect(plain(later.spans)).toEqual(plain(live.spans));
    expect(new Set(live.spans.map(({ traceId }) => traceId)).size).toBe(1);
  });

  it("has no error if a run waits for a decision", async () => {
    const collector = await collect();
    const waiting = "id: w\nname: W\nentry: ask\nnodes: { ask: { name: Ask, approval: { ask: Go on? } } }\nedges: []\n";
    const cwd = makeProject({ ...files, "w.yml": waiting });
    const ended = await runHere(["run", "w.yml", ...RUN.slice(2), "r"], {
      cwd,
      env: { SKILLFLOW_OTLP_URL: collector.url },
    });
    expect(ended.code, ended.stderr).toBe(7);
    const [root] = collector.spans;
    expect(root?.attributes).toMatchObject({ "skillflow.status": "waiting" });
    expect([root?.status, root?.attributes["error.type"]]).toEqual([
      expect.not.objectContaining({ code: 2 }),
      undefined,
    ]);
  });

  it("names the skill that a model loads, and the file of it", async () => {
    const collector = await collect();
    const cwd = makeProject({
      ...files,
      "flow.yml": FLOW.replaceAll("skills: [desk]", "skills: [guide]"),
      "skills/guide/SKILL.md": "---\nname: guide\ndescription: How to look\n---\nRead `more.md`.",
      "skills/guide/more.md": "Look twice.",
      "script.json": scriptOf(
        {
          node: "look",
          calls: [
            { tool: "read_skill", input: { skill_name: "guide" } },
            { tool: "read_skill", input: { skill_name: "guide", path: "more.md" } },
            { tool: "read_skill", input: { skill_name: "guide", path: `${CANARY}.md` } },
          ],
        },
        { node: "look", text: "looked" },
        { node: "post", text: "posted" },
      ),
    });
    const env = { SKILLFLOW_OTLP_URL: collector.url };
    await runHere([...RUN, "r", "--context-mode", "readOnDemand"], { cwd, env });
    const loads = collector.spans.filter(({ name }) => name.startsWith("execute_tool"));
    expect(
      loads.map(({ name, attributes }) => [
        name,
        attributes["gen_ai.skill.name"],
        attributes["gen_ai.skill.resource.name"],
      ]),
    ).toEqual([
      ["execute_tool read_skill guide", "guide", undefined],
      ["execute_tool read_skill guide more.md", "guide", "more.md"],
      ["execute_tool read_skill guide", "guide", undefined],
    ]);
    expect(JSON.stringify(plain(collector.spans))).not.toContain(CANARY);
  });

  it("exports a failed call and a failed node with their codes alone", async () => {
    const collector = await collect();
    const script = scriptOf(
      { node: "look", calls: [{ tool: `no_such_tool_${CANARY}`, input: { text: CANARY } }] },
      { node: "look", text: "" },
    );
    const cwd = makeProject({ ...files, "script.json": script });
    await runHere([...RUN, "r"], { cwd, env: { SKILLFLOW_OTLP_URL: collector.url } });
    const failed = collector.spans.filter(({ status }) => status.code === 2);
    expect(failed.map(({ name, attributes }) => [name, attributes["error.type"]])).toContainEqual([
      "execute_tool unknown",
      "tool.unknown",
    ]);
    expect(failed.flatMap(({ status }) => status.message ?? [])).toEqual([]);
    expect(JSON.stringify(plain(collector.spans))).not.toContain(CANARY);
  });
});

describe("runs export", () => {
  it("sends a large run in several requests, none of them large", async () => {
    const collector = await collect();
    const cwd = makeProject(files);
    await runHere([...RUN, "r"], { cwd });
    const [head = "", ...lines] = readFileSync(runFile(cwd, "r"), "utf8").trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line));
    const at = events.findIndex(({ type }) => type === "tool:call");
    const many = Array.from({ length: 1500 }, (_, n) => [
      { ...events[at], id: `1:look/0/1/${n}`, ref: `r${n + 2}` },
      { ...events[at + 1], id: `1:look/0/1/${n}`, ref: `r${n + 2}` },
    ]).flat();
    const grown = [...events.slice(0, at), ...many, ...events.slice(at + 2)];
    const text = grown.map(({ seal: _, record: __, more: ___, ...event }, seq) => JSON.stringify({ ...event, seq }));
    writeFileSync(join(cwd, "large.jsonl"), `${[head, ...text].join("\n")}\n`);
    const { code, stderr } = await runHere(["runs", "export", "large.jsonl", "--otlp", collector.url], { cwd });
    expect([code, stderr, collector.faults]).toEqual([0, "1,508 spans sent\n", []]);
    expect(collector.requests.length).toBeGreaterThan(3);
    expect(collector.spans).toHaveLength(1508);
  });

  it.each([
    [[], {}, 2, "--otlp URL or SKILLFLOW_OTLP_URL"],
    [["--otlp", "ftp://host/x"], {}, 2, "not an http or https URL"],
    [["--format", "xml"], {}, 2, "atif"],
    [["--otlp", "http://127.0.0.1:9/v1/traces"], {}, 4, "the spans were not sent"],
  ])("with %j ends with its code", async (flags, env, code, said) => {
    const cwd = makeProject(files);
    await runHere([...RUN, "r"], { cwd });
    const ended = await runHere(["runs", "export", "r", ...flags], { cwd, env });
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(said)]);
  });

  it("writes a trajectory with a step of the agent for each reply", async () => {
    const cwd = makeProject(files);
    await runHere([...RUN, "r"], { cwd });
    const { code, stdout } = await runHere(["runs", "export", "r", "--format", "atif"], { cwd });
    const trajectory = JSON.parse(stdout);
    expect([code, atifFaults(trajectory)]).toEqual([0, []]);
    expect(trajectory).toMatchObject({ schema_version: "ATIF-v1.8", session_id: "r", agent: { name: "skillflow" } });
    const agent = trajectory.steps.filter(({ source }: { source: string }) => source === "agent");
    expect(agent).toHaveLength(4);
    expect(agent[0]).toMatchObject({
      message: "",
      model_name: "script:script.json",
      tool_calls: [{ function_name: "desk_look", arguments: { text: `${CANARY}-argument` } }],
      observation: { results: [{ source_call_id: agent[0].tool_calls[0].tool_call_id, extra: { ref: "r1" } }] },
      metrics: { prompt_tokens: 0, completion_tokens: 28, cached_tokens: 0 },
      llm_call_count: 1,
      extra: { node: "look", visit: 1, purpose: "work" },
    });
    expect(agent[1]).toMatchObject({ message: `it is broken ${CANARY}-answer` });
    expect(trajectory.steps.map(({ message }: { message: string }) => message).join("\n")).toContain(
      `${CANARY}-instruction`,
    );
  });

  it.each(["workflows/incident-triage.run.jsonl"])(
    "writes the shipped recording %s as a trajectory, to a file",
    async (recording) => {
      const cwd = makeProject();
      const out = join(cwd, "t.json");
      const { code } = await runHere(["runs", "export", join(ROOT, recording), "--format", "atif", "--out", out], {
        cwd,
      });
      expect([code, atifFaults(JSON.parse(readFileSync(out, "utf8")))]).toEqual([0, []]);
    },
  );

  it("exports the shipped recording as spans", async () => {
    const collector = await collect();
    const { code } = await runHere(
      ["runs", "export", join(ROOT, "workflows/incident-triage.run.jsonl"), "--otlp", collector.url, "--otlp-content"],
      { cwd: makeProject() },
    );
    expect([code, collector.faults]).toEqual([0, []]);
    expect(collector.spans.length).toBeGreaterThan(15);
  });
});
