/// <reference types="node" preserve="true" />

import { existsSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SkillflowError } from "./core/base/errors.ts";
import { type Json, nearest } from "./core/base/values.ts";
import type { RunEvent } from "./core/engine/event/event.ts";
import type { Model, Observer } from "./core/engine/ports.ts";
import { escapeGlobs, type Fixture, type Fixtures, noFixture, openFixtures } from "./core/outward/testing/fixtures.ts";
import { type ScriptedReply, scriptSchema } from "./core/outward/testing/script.ts";
import type { SkillDefinition as Skill, ToolContext } from "./core/skill/skill.ts";
import { exposedName } from "./core/skill/tool-names.ts";
import { ownPath } from "./files/own-files.ts";
import { scriptModel } from "./models/script.ts";
import { memoryBlobs } from "./stores/blobs.ts";

export { memoryStore } from "./stores/memory.ts";
export type { Fixture, Fixtures, ScriptedReply };

/** Public fakes for tests of workflows, skills and adapters. */

/** Request that a loopback service received. */
export interface LoopbackRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Loopback {
  /** Base URL, `http://127.0.0.1:port`. */
  readonly url: string;
  /** All requests so far, in order. */
  readonly requests: readonly LoopbackRequest[];
  close(): Promise<void>;
}

export type LoopbackHandler = (request: LoopbackRequest, response: ServerResponse) => void | Promise<void>;

/** Starts a real HTTP service on 127.0.0.1 that answers with `handler`. */
export async function startLoopback(handler: LoopbackHandler): Promise<Loopback> {
  const requests: LoopbackRequest[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers } = incoming;
      const request = { method, url, headers, body: Buffer.concat(chunks).toString("utf8") };
      requests.push(request);
      Promise.resolve(handler(request, response)).catch((error: unknown) => response.destroy(error as Error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Creates the context of a tool call outside a run. It has real fetch and a logger that prints nothing. */
export function toolContext(parts: Partial<ToolContext> = {}): ToolContext {
  const silent = () => undefined;
  return {
    config: {},
    callId: "test/1",
    workDir: "/",
    signal: new AbortController().signal,
    fetch: (input, init) => fetch(input, init),
    offline: false,
    logger: { debug: silent, info: silent, warn: silent },
    now: Date.now,
    blobs: memoryBlobs(),
    ...parts,
  };
}

/** Creates an observer that keeps the events it receives. */
export function recordingObserver(): Observer & { readonly events: RunEvent[] } {
  const events: RunEvent[] = [];
  return { events, onEvent: (event) => events.push(event) };
}

/**
 * Creates a model that replies from a list, like a script file. Each reply is used once, by the first matching call: at
 * its `node`, if set. A `choice` matches a route, a `verdict` a judge, a `reflection` a diagnosis. A call without a
 * matching reply ends the run with `script.exhausted` (1).
 */
export function scriptedModel(replies: readonly ScriptedReply[]): Model {
  const checked = scriptSchema().safeParse({ replies });
  if (checked.success) return scriptModel(checked.data);
  const problems = checked.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new SkillflowError("recording.invalid", `the script is not valid: ${problems.join("; ")}`);
}

/**
 * Creates a skill for testing a workflow, to pass to `openProject`: your own skill, or a built-in one by id. It keeps
 * its tools and instruction, but answers from fixtures. It needs no config and makes no requests. A call without a
 * matching row fails with `no fixture for TOOL`. Create one for each run if rows have an equal `when`. Throws `skill.invalid` if there is no such skill or tool.
 */
export async function fixtureSkill(skill: string | Skill, fixtures: Fixtures): Promise<Skill> {
  const { mcp: _, probe: __, lacks: ____, ...real } = typeof skill === "string" ? await builtinSkill(skill) : skill;
  const names = new Set(real.tools.map((tool) => exposedName(real.id, tool.name)));
  const unknown = Object.keys(fixtures).find((name) => !names.has(name));
  if (unknown !== undefined) {
    const near = nearest(unknown, names);
    const hint = near === undefined ? `its tools are ${[...names].join(", ")}` : `did you mean ${near}?`;
    throw new SkillflowError("skill.invalid", `the skill ${real.id} has no tool ${unknown}`, { hint });
  }
  const tools = real.tools.map(({ needs: ___, output_schema: _____, ...tool }) => {
    const name = exposedName(real.id, tool.name);
    const find = openFixtures(fixtures[name] ?? []);
    return { ...tool, handler: (input: Json) => answer(name, find(input)) };
  });
  return { ...real, config: {}, tools };
}

/** Extracts fixtures from a recorded run: the tools' results, by input. */
export function recordedFixtures(events: Iterable<RunEvent>): Fixtures {
  const inputs = new Map<string, Json>();
  const rows: Record<string, Fixture[]> = {};
  for (const event of events) {
    if (event.type === "tool:call") inputs.set(event.id, event.input);
    if (event.type !== "tool:result" || event.ref === undefined) continue;
    const { id, tool, output = null, error } = event;
    const row: Fixture = { when: escapeGlobs(inputs.get(id) ?? {}), ...(error === undefined ? { output } : { error }) };
    rows[tool] = [...(rows[tool] ?? []), row];
  }
  return rows;
}

async function builtinSkill(id: string): Promise<Skill> {
  const directory = join(ownPath("skills", "skills"), id);
  if (/^[a-z][\w-]*$/.test(id) && existsSync(directory)) {
    const { loadBuiltinSkill } = await import("./loaders/registry/builtin.ts");
    return (await loadBuiltinSkill(directory)) as Skill;
  }
  throw new SkillflowError("skill.invalid", `there is no built-in skill ${id}`);
}

function answer(name: string, row: Fixture | undefined): Json {
  if (row?.error !== undefined) throw new Error(row.error);
  if (!row) throw new Error(noFixture(name));
  return row.output ?? null;
}
