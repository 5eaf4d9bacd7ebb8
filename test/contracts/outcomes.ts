import type { ServerResponse } from "node:http";
import type { JsonObject, Skill } from "skillflow";
import { type Loopback, type LoopbackHandler, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { makeProject } from "../cli/program.ts";
import { statusesOf, toldBy } from "../cli/sink.ts";
import { LONG } from "../harness/long.ts";

/**
 * The report of `apply` about each writing tool when its service fails, and the number of writes that the service gets.
 */

export interface WritingCase {
  readonly config: (url: string) => Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, JsonObject>>;
  /** Answers all other requests. */
  readonly flood: LoopbackHandler;
  /** Answers some reads differently, so that there is something to write. Undefined leaves the request to `flood`. */
  readonly reads?: (request: LoopbackRequest) => unknown;
  /** How often one call sends what its service recognizes as the same message. Default 1. */
  readonly attempts?: number;
  /** Whether they are also repeated if the connection was cut. */
  readonly retriesCuts?: boolean;
  /** For services whose answers have no form: any success counts. */
  readonly takesAnyAnswer?: boolean;
}

type Fault = (response: ServerResponse) => void;

const FAULTS: Readonly<Record<string, Fault>> = {
  "refused (403)": (response) => sendJson(response, 403, { ok: false, error: "restricted_action", message: "no" }),
  "5xx": (response) => sendJson(response, 503, { message: "overloaded" }, { "retry-after": "0" }),
  hang: () => undefined,
  "cut connection": (response) => void response.socket?.destroy(),
  "garbled answer": (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>"),
};

/** Requests that write nothing, although they use POST: queries, searches, and opening a conversation. */
function isRead({ method, url, body }: LoopbackRequest): boolean {
  if (method === "GET" || method === "HEAD") return true;
  return /\/(conversations\.open|auth\.test|search\/jql)\b/.test(url) || /^\{"query":"query /.test(body);
}

export function describeOutcomes(skill: Skill, writing: WritingCase): void {
  const writes = skill.tools.filter(({ effect }) => effect === "write");
  if (writes.length === 0) return;
  // A hang takes each tool two time limits: in the short form, only skills with few tools that write wait for it.
  const names = Object.keys(FAULTS).filter((name) => LONG || name !== "hang" || writes.length < 3);
  const first = [...skill.id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % names.length;
  const asked = LONG ? names : names.slice(first, first + 1);
  const counts = { applied: 0, failed: 0, in_doubt: 0, writes: 0 };

  describe(`apply with ${skill.id}, whose service fails`, () => {
    let service: Loopback | undefined;
    afterEach(() => service?.close());
    afterAll(() => {
      if (LONG)
        process.stderr.write(`outcomes of ${skill.id}: ${JSON.stringify({ tools: writes.length, ...counts })}\n`);
    });

    it.each(asked)("%s: writes no more often than is safe", async (name) => {
      const { apply, written } = await plannedWrites(name, skill, writing, (started) => {
        service = started;
      });
      const first = await apply();
      const again = await apply();
      const isRefused = name.startsWith("refused");
      const isTaken = name === "garbled answer" && writing.takesAnyAnswer === true;
      const expected = writes.map(({ idempotent }) => (isRefused || idempotent ? "failed" : "in_doubt"));
      const { attempts = 1 } = writing;
      const mostOf = (idempotent = false) => (isRefused || idempotent ? 2 : attempts);
      expect(first).toEqual(isTaken ? ["applied"] : expected);
      expect(again).toEqual(isTaken ? ["already_applied"] : expected);
      const total = isTaken ? 1 : writes.reduce((sum, { idempotent }) => sum + mostOf(idempotent), 0);
      const isRepeated = name === "5xx" || (name === "cut connection" && writing.retriesCuts === true);
      const most = isRepeated || isRefused || isTaken ? total : total - writes.length * (attempts - 1);
      // A slow machine may spend the time limit of a call that hangs before its write.
      if (name === "hang") expect(written()).toBeLessThanOrEqual(most);
      else expect(written()).toBe(most);
      for (const status of first) counts[status as "failed"] += 1;
      counts.writes += written();
    });
  });
}

async function plannedWrites(
  fault: string,
  skill: Skill,
  { config, inputs, flood, reads }: WritingCase,
  onStart: (service: Loopback) => void,
) {
  let written = 0;
  const service = await startLoopback(async (request, response) => {
    if (isRead(request)) {
      const answer = reads?.(request);
      return answer === undefined ? flood(request, response) : sendJson(response, 200, answer);
    }
    written += 1;
    FAULTS[fault]?.(response);
  });
  onStart(service);
  const writes = skill.tools.filter(({ effect }) => effect === "write");
  const calls = writes.map(({ name }) => ({ tool: `${skill.id}_${name}`, input: inputs[name] ?? {} }));
  const node = { name: "Act", instruction: "Act.", skills: [skill.id] };
  const cwd = makeProject({
    "w.json": { id: "w", name: "W", entry: "act", writes: "plan", nodes: { act: node }, edges: [] },
    "s.json": { replies: [{ calls }, { text: "done" }] },
  });
  const values = Object.entries(config(service.url));
  const env = Object.fromEntries(values.map(([key, value]) => [skill.config[key]?.env ?? key, value]));
  const limit = fault === "hang" ? ["--tool-timeout", LONG ? "2s" : "1s"] : [];
  const run = ["run", "w.json", "--model", "script:s.json", "--run-id", "r", "--json", ...limit];
  const { stdout, stderr, code } = await runHere(run, { cwd, env });
  expect([code, stderr.includes("✘")]).toEqual([0, false]);
  const { plan } = JSON.parse(stdout) as { plan: readonly unknown[] };
  expect(plan).toHaveLength(writes.length);
  expect(written).toBe(0);
  return {
    written: () => written,
    apply: async () => statusesOf(toldBy((await runHere(["apply", "r", "--yes", "--json"], { cwd, env })).stdout)),
  };
}
