import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ProjectConfig, projectConfigSchema } from "../../src/core/document/config.ts";
import type { McpServerConfig } from "../../src/core/skill/skill.ts";
import { variablesIn } from "../../src/loaders/mcp/variables.ts";
import { parseYaml } from "../../src/loaders/text/yaml-text.ts";

/** The recipes of docs/mcp-recipes.md can be copied as they are: they parse, and every version is pinned. */

const PAGE = readFileSync(join(import.meta.dirname, "..", "../docs/mcp-recipes.md"), "utf8");
const BLOCKS = [...PAGE.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);

function serversOf(text: string): [string, McpServerConfig][] {
  const config: ProjectConfig = projectConfigSchema().parse(parseYaml(text).value);
  return Object.entries(config.mcpServers ?? {});
}

const EXACT = /^(?:@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+$/;
const IMAGE = /^[\w./-]+(?::v?\d+\.\d+\.\d+)?(?:@sha256:[0-9a-f]{64})?$/;

/** Parts of a server that could change tomorrow. */
function floating({ command, args = [] }: McpServerConfig): string[] {
  if (command === undefined) return [];
  const words = args.filter((word) => !word.startsWith("-"));
  const [what = ""] = command === "docker" ? words.slice(words.indexOf("run") + 1) : words;
  const isPinned =
    command === "npx" || command === "uvx"
      ? EXACT.test(what)
      : command === "docker" && IMAGE.test(what) && /:v?\d|@sha256:/.test(what);
  return [...(isPinned ? [] : [`${command} ${what}`]), ...args.filter((word) => /latest/i.test(word))];
}

describe("the recipes of MCP servers", () => {
  it("are ten, each with a unique id", () => {
    const ids = BLOCKS.flatMap(serversOf).map(([id]) => id);
    expect([ids.length, new Set(ids).size]).toEqual([10, 10]);
  });

  it.each(BLOCKS.flatMap(serversOf))(
    "contain everything that %s needs, pinned, with its effects and its reads",
    (_id, server) => {
      expect(floating(server)).toEqual([]);
      expect(Object.keys(server.effects ?? {}).length).toBeGreaterThan(0);
      expect(server.reads).toBe("private");
      expect(server.origin).toBeUndefined();
      if (server.url !== undefined) expect(new URL(server.url).protocol).toBe("https:");
      const named = Object.values(server.headers ?? {}).flatMap(variablesIn);
      expect(named.filter((name) => server.env?.[name] === undefined)).toEqual([]);
      expect(Object.values(server.headers ?? {}).every((value) => variablesIn(value).length > 0)).toBe(true);
    },
  );

  it.each<[McpServerConfig]>([
    [{ command: "npx", args: ["-y", "@sentry/mcp-server"] }],
    [{ command: "npx", args: ["-y", "@sentry/mcp-server@latest"] }],
    [{ command: "npx", args: ["-y", "@sentry/mcp-server@^0.39.0"] }],
    [{ command: "npx", args: ["-y", "@sentry/mcp-server@0.39"] }],
    [{ command: "uvx", args: ["mcp-grafana"] }],
    [{ command: "docker", args: ["run", "-i", "--rm", "grafana/mcp-grafana"] }],
    [{ command: "docker", args: ["run", "-i", "--rm", "grafana/mcp-grafana:latest"] }],
    [{ command: "docker", args: ["run", "-i", "--rm", "grafana/mcp-grafana:1"] }],
    [{ command: "node", args: ["server.js"] }],
  ])("would reject %j", (server) => {
    expect(floating(server)).not.toEqual([]);
  });

  it.each<[McpServerConfig]>([
    [{ command: "docker", args: ["run", "-i", "--rm", "grafana/mcp-grafana:2.1.1"] }],
    [{ command: "docker", args: ["run", "-i", `ghcr.io/a/b@sha256:${"0".repeat(64)}`] }],
  ])("would accept %j", (server) => {
    expect(floating(server)).toEqual([]);
  });
});
