import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { makeProject } from "../cli/program.ts";
import { startHttp } from "./mcp-program.ts";

/** The MCP conformance suite's scenarios for servers, against the built program. docs/mcp.md lists them too. */

const PASSING = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-error",
  "json-schema-2020-12",
  "server-sse-multiple-streams",
  "resources-list",
  "prompts-list",
  "dns-rebinding-protection",
];

/**
 * They require tools, resources and prompts of a test server that no skill can provide, or features that are not
 * declared.
 */
const NOT_APPLICABLE = [
  "logging-set-level",
  "completion-complete",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-with-logging",
  "tools-call-with-progress",
  "tools-call-sampling",
  "tools-call-elicitation",
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "server-sse-polling",
  "resources-read-text",
  "resources-read-binary",
  "resources-templates-read",
  "resources-subscribe",
  "resources-unsubscribe",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-embedded-resource",
  "prompts-get-with-image",
];

/** Skills whose tools have the names that the suite calls. */
const moduleOf = (id: string, ...tools: readonly object[]) =>
  `const fail = () => { throw new Error("This tool intentionally returns an error for testing"); };
const say = () => "This is a simple text response for testing.";
const skill = ${JSON.stringify({ id, name: id, description: "Answers the suite", category: "general", config: {}, tools })};
for (const tool of skill.tools) tool.handler = tool.name === "error_handling" ? fail : say;
export default skill;`;
const toolOf = (name: string, input_schema: object = { type: "object" }) => {
  return { name, description: "Tool with JSON Schema 2020-12 features", effect: "read", input_schema };
};
const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
  properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
  additionalProperties: false,
};
const FILES = {
  ".skillflow.yml": { skills: { modules: ["./test.mjs", "./json.mjs"] } },
  "test.mjs": moduleOf("test", toolOf("simple_text"), toolOf("error_handling")),
  "json.mjs": moduleOf("json", toolOf("schema_2020_12_tool", SCHEMA)),
};

function runSuite(url: string): Promise<{ readonly code: number | null; readonly text: string }> {
  const suite = import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js");
  const results = makeProject({ "expected.yml": { server: NOT_APPLICABLE } });
  const hook = new URL("conformance-on-node-20.mjs", import.meta.url).href;
  const expected = ["--expected-failures", join(results, "expected.yml"), "-o", results];
  const command = ["server", "--url", url, "--suite", "all", ...expected];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", hook, fileURLToPath(suite), ...command], { cwd: results });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
    }
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, text }));
  });
}

it("passes the applicable scenarios of the conformance suite, and no other has started to pass", async () => {
  const trust = ["test", "json"].flatMap((id) => ["--trust-skill", id]);
  const { url } = await startHttp({ cwd: makeProject(FILES), args: trust });
  const { code, text } = await runSuite(url);
  expect(code, text).toBe(0);
  const passed = [...text.matchAll(/^✓ (\S+): [1-9]/gm)].map(([, name]) => name);
  expect(passed).toEqual(expect.arrayContaining(PASSING));
  expect(passed).toHaveLength(PASSING.length);
});
