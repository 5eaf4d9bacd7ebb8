import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isObject } from "../../src/core/base/values.ts";
import { runHere } from "../cli/in-process.ts";
import { makeProject } from "../cli/program.ts";
import { VENDORS } from "../services/vendors.ts";

/** Clients of `skillflow mcp` read no skill's text: the schemas of the tools describe each parameter. */

/** Config that sets a parameter, which clients then do not see. */
const SETTLING = /^(?:GITHUB_REPOSITORY|GITLAB_PROJECT|SENTRY_ORG)$/;
const ENV = {
  ...Object.fromEntries(
    [...VENDORS.values()]
      .flatMap(({ env }) => Object.entries(env("http://127.0.0.1:1")))
      .filter(([name]) => !SETTLING.test(name)),
  ),
  GIT_REPOSITORY: "repo.git",
  HTTP_HOSTS: "example.com",
  SUPABASE_URL: "http://127.0.0.1:1",
  SUPABASE_SERVICE_ROLE_KEY: "any-key",
  SUPABASE_ACCESS_TOKEN: "any-key",
  SUPABASE_TABLES: "t",
  SUPABASE_FUNCTIONS: "f",
  NOTIFICATION_FILE: "out.jsonl",
  POSTGRES_URL: "postgres://u:p@127.0.0.1:1/db",
};
const REPOSITORY = Object.fromEntries(["HEAD", "objects/x", "refs/x"].map((file) => [`repo.git/${file}`, "x"]));

/** Places of parameters without a description. */
function bare(schema: unknown, place: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((each) => bare(each, place));
  if (!isObject(schema)) return [];
  const { properties, ...rest } = schema;
  const own = isObject(properties) ? Object.entries(properties) : [];
  const missing = own.filter(([, value]) => !isObject(value) || typeof value.description !== "string");
  const nested = [...own, ...Object.entries(rest).map(([, value]) => ["", value] as const)];
  return [
    ...missing.map(([name]) => `${place}.${name}`),
    ...nested.flatMap(([name, value]) => bare(value, `${place}.${name}`)),
  ];
}

it("every parameter of every built-in tool has a description for MCP clients", async () => {
  const cwd = makeProject(REPOSITORY);
  const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const messages = [
    { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 2, method: "tools/list" },
  ];
  const stdin = messages.map((message) => `${JSON.stringify(message)}\n`).join("");
  const { stdout, stderr } = await runHere(["mcp"], { cwd, env: { HOME: cwd, ...ENV }, stdin });
  const answers = stdout.split("\n").filter(Boolean);
  const tools = answers.flatMap((line) => {
    return (JSON.parse(line).result?.tools ?? []) as { name: string; inputSchema: object }[];
  });
  const served = new Set(tools.map(({ name }) => name.split("_")[0]));
  const builtin = readdirSync(join(import.meta.dirname, "../../skills"));
  expect([builtin.filter((id) => !served.has(id)), stderr.includes("slack:")]).toEqual([[], false]);
  expect(tools.flatMap(({ name, inputSchema }) => bare(inputSchema, name))).toEqual([]);
});
