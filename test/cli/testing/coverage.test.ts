import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeProject, removeProjects } from "../program.ts";
import { runTest } from "./desk.ts";

afterAll(removeProjects);

const ROUTED = `id: flow
name: Flow
entry: each
writes: plan
nodes:
  each:
    name: Each
    map: { over: input.issues, as: issue, key: issue }
    entry: look
    nodes:
      look: { name: Look, instruction: Look., output: { type: object, properties: { kind: { type: string } } } }
      drop: { name: Drop, instruction: Drop. }
    edges: [{ from: look, to: drop, if: look.kind = noise }]
  sure: { name: Sure, approval: { ask: "Really?" } }
  send:
    name: Send
    skills: [slack]
    requires: { output_required: [input.channel], on_fail: skip }
    steps:
      - { id: message, tool: slack_send_message, with: { text: hello } }
edges:
  - { from: each, to: sure }
  - { from: sure, to: send }
`;

const REPLIES = `replies:
  - { node: look, item: a, data: { kind: bug } }
`;

const LOOSE = `workflow: ./flow.yml
model: script:./flow.script.yml
tools: { slack_send_message: [{ output: {} }] }
cases:
  - name: one is sent
    input: { issues: [a], channel: ops }
    approvals: { sure: approve }
    expect: { path: [each, sure, send] }
`;

function makeFlow(test: string) {
  return makeProject({ "flow.yml": ROUTED, "flow.script.yml": REPLIES, "flow.test.yml": test });
}

describe("test --coverage", () => {
  it("names the nodes, edges and steps that no case reaches, also in the reports", async () => {
    const cwd = makeFlow(LOOSE);
    const reports = ["--report", "junit=t.xml", "--report", "md=t.md"];
    const { code, stdout, stderr } = await runTest(cwd, ["--coverage", "--json", ...reports]);
    expect(code).toBe(0);
    expect(stderr).toContain("coverage of flow.yml: 4 of 5 nodes, 2 of 3 edges, 1 of 1 steps");
    expect(stderr).toContain("flow.yml:12:7 warning NOT_COVERED no case reaches the node drop");
    const [found] = JSON.parse(stdout).coverage;
    expect(found).toMatchObject({ workflow: "flow.yml", parts: { nodes: { reached: 4, total: 5 } } });
    expect(found.missed).toMatchObject([
      { line: 12 },
      { line: 13, message: "no case reaches the edge from look to drop" },
    ]);
    const xml = readFileSync(join(cwd, "t.xml"), "utf8");
    expect(xml).toContain('<property name="edges" value="2 of 3"/>');
    expect(xml).toContain("flow.yml:12: no case reaches the node drop");
    const markdown = readFileSync(join(cwd, "t.md"), "utf8");
    expect(markdown).toContain("## 1 of 1 workflow tests pass");
    expect(markdown).toContain("| `flow.yml` | 4 of 5 | 2 of 3 | 1 of 1 |");
    expect(markdown).toContain("- `flow.yml:13` no case reaches the edge from look to drop");
  });
});
