import { readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { COMMANDS as TABLE } from "../../src/cli/table/commands.ts";
import type { CommandSpec } from "../../src/cli/table/options.ts";
import { runInside } from "../cli/inside.ts";
import { runFile } from "../cli/program.ts";
import { LONG, oneOf } from "../harness/long.ts";
import { isolatingSandboxes } from "../sandbox/isolating.ts";
import { type Checkout, hostileCheckout } from "./trees/checkout.ts";
import { AWS, brokenOnes, closeServices, leaksIn, runBounded, snapshot, writtenOutside } from "./trees/target.ts";

const it = oneOf(4);

/**
 * One checkout that holds every attack that a repository can make on a user who looks at it. No command starts what it
 * names, sends data, copies an outside file into an output, writes one, or hangs.
 */

afterAll(closeServices);

const sandbox = isolatingSandboxes.find(([, , works]) => works)?.[1];

const FLOW_RUN = ["--model", "script:script.json", "--input", "@alert.json"];
const RUN = ["run", "quiet.yml", ...FLOW_RUN, "-i", "text=aaa", "--run-id", "r", "--out", "skillflow-out"];
const SLOW = ["run", "slow.yml", "--model", "script:slow.json", "--timeout", "5s", "--run-id", "slow"];
const REMEMBER = ["run", "remember.yml", "--model", "script:remember.json", "--run-id", "remembering"];
const MEMORY = [...REMEMBER, "--state", "git:memory"];
const COMMANDS: readonly (readonly string[])[] = [
  ["validate", "flow.yml", "quiet.yml", "slow.yml"],
  ["validate", "pipe.yml"],
  ["validate", "endless.yml"],
  ["graph", "flow.yml"],
  ["test"],
  ["backtest", "."],
  ["skills", "list"],
  ["skills", "lint"],
  ["skills", "show", "words"],
  ["doctor"],
  ["doctor", "flow.yml"],
  ["doctor", "--live"],
  ["run", "flow.yml", ...FLOW_RUN, "--dry-run"],
  ["run", "flow.yml", ...FLOW_RUN],
  ["run", "quiet.yml", ...FLOW_RUN, "--dry-run", "--run-id", "dry"],
  ["run", "quiet.yml", ...FLOW_RUN, "--timeout", "20s"],
  RUN,
  SLOW,
  MEMORY,
  ["run", "quiet.yml", ...FLOW_RUN, "-i", "text=aaa", "--out", "away/out", "--report", "md=away/report.md"],
  ["resume", "r", "--from", "look"],
  ["resume", "committed", "--from", "look", "--model", "script:script.json"],
  ["replay", "r", "--tools", "live"],
  ["replay", "committed", "--tools", "live"],
  ["replay", "committed.jsonl", "--tools", "live"],
  ["replay", "pipe.jsonl"],
  ["replay", "endless.jsonl"],
  ["report", "committed", "--out", "skillflow-out"],
  ["recheck", "committed"],
  ["ask", "committed", "why?"],
  ["runs", "list"],
  ["runs", "show", "committed"],
  ["run", "quiet.yml", ...FLOW_RUN, "--from-run", "committed"],
  ["feedback", "committed", "right"],
  ["stats", "--since", "9999d"],
  ["runs", "prune", "--keep", "0"],
];

/**
 * Commands that can keep a process busy forever, those with their own expectation, and the first of each name. The
 * short form runs the others in this process.
 */
function isBounded(args: readonly string[]): boolean {
  const isFirst = COMMANDS.find(([name]) => name === args[0]) === args;
  return LONG || isFirst || CODES.has(args) || /pipe|endless|slow/.test(args.join(" "));
}

/** Commands that start servers, which checkout-servers.test.ts attacks, or for which this checkout has nothing. */
const ELSEWHERE = [
  ...["signal", "apply", "init", "skills new", "runs diff", "runs verify", "runs export", "schema", "completion"],
  ...["state list", "state show", "state forget", "state export"],
  ...["ui", "serve", "mcp", "worker", "listen", "mcp-lock"],
];

function namesOf(specs: readonly CommandSpec[], before = ""): string[] {
  return specs.flatMap(({ usage, commands }) => {
    const name = `${before}${usage.split(" ")[0]}`;
    return commands ? namesOf(commands, `${name} `) : [name];
  });
}

/** A run that succeeds, and an origin that came with the checkout. */
const CODES = new Map<readonly string[], number>([
  [RUN, 0],
  [MEMORY, 4],
]);

describe("a checkout that holds every attack", () => {
  it("is tried with every command, except those attacked elsewhere", () => {
    const lines = COMMANDS.map((args) => `${args.join(" ")} `);
    const untried = namesOf(TABLE).filter((name) => !lines.some((line) => line.startsWith(`${name} `)));
    expect(untried.sort()).toEqual([...ELSEWHERE].sort());
  });

  describe("whatever command looks at it", () => {
    let checkout: Checkout;
    let [before, own]: Record<string, string>[] = [];
    beforeAll(async () => {
      checkout = await hostileCheckout();
      [before, own] = [snapshot(checkout.home), snapshot(checkout.cwd)];
    }, 60_000);

    it.each(COMMANDS.map((args) => [args.join(" "), args] as const))(
      "starts nothing, sends nothing, and neither reads nor writes what is outside: %s",
      async (name, args) => {
        const { cwd, home, witness, server } = checkout;
        const env = { HOME: home, AWS_SECRET_ACCESS_KEY: AWS };
        const ended = await (isBounded(args) ? runBounded(args, cwd, env) : runInside(args, { cwd, env }));
        expect(readdirSync(witness), ended.stderr).toEqual([".keep"]);
        expect(server.requests.map(({ url }) => url)).toEqual([]);
        expect(brokenOnes([[name, ended]])).toEqual([]);
        expect(leaksIn([[name, ended.stdout + ended.stderr]])).toEqual([]);
        const code = CODES.get(args);
        if (code !== undefined) expect([name, ended.code], ended.stderr).toEqual([name, code]);
      },
      120_000,
    );

    it("leaves the files of the user alone, and writes no secret", () => {
      const { cwd, home } = checkout;
      expect(snapshot(home)).toEqual(before);
      const after = snapshot(cwd);
      expect(writtenOutside(own ?? {}, after)).toEqual([]);
      expect(leaksIn(Object.entries(after).filter(([name, text]) => own?.[name] !== text))).toEqual([]);
    });
  });

  it("is only data on an event about a pull request: the base decides", async () => {
    const { cwd, home, witness, base } = await hostileCheckout();
    for (const event of ["pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment"]) {
      const job = { GITHUB_ACTIONS: "true", GITHUB_EVENT_NAME: event, GITHUB_EVENT_PATH: join(cwd, "event.json") };
      const trusting = { HOME: home, SKILLFLOW_TRUST_SKILL: "inline-local,doc-local,plug,dressed,words" };
      const args = ["run", "quiet.yml", "--model", "script:script.json", "--run-id", event];
      const ended = await runBounded(args, cwd, { ...job, ...trusting });
      const [head = ""] = readFileSync(runFile(cwd, event), "utf8").split("\n");
      expect([event, JSON.parse(head)], ended.stderr).toMatchObject([event, { commit: base }]);
      expect(head).toContain("The base decides.");
    }
    expect(readdirSync(witness)).toEqual([".keep"]);
  }, 120_000);

  it.skipIf(!sandbox)(
    "contains code that reaches no socket and prints no secret, even if it is trusted",
    async () => {
      const { cwd, home } = await hostileCheckout();
      const service = createServer((socket) => socket.end("reached"));
      await new Promise<void>((resolve) => service.listen(join(cwd, "service.sock"), resolve));
      try {
        const flags = ["--trust-skill", "prober", "--skill-env", "prober=PROBE_TOKEN", "--writes", "allow"];
        const args = ["run", "probe.yml", "--model", "script:probe.json", "--run-id", "probed", ...flags];
        const ended = await runBounded(args, cwd, { HOME: home, PROBE_TOKEN: AWS });
        expect(ended.code, ended.stderr).toBe(0);
        const record = readFileSync(runFile(cwd, "probed"), "utf8");
        expect(record).toMatch(/"reach":"E[A-Z]+"/);
        const octets = Buffer.from(AWS).toString("hex");
        for (const size of [2, 4, 16]) {
          const groups = octets.slice(0, 32).match(new RegExp(`.{${size}}`, "g")) ?? [];
          expect(record).not.toContain(groups.join(" "));
        }
        expect(record).not.toContain(AWS.slice(0, 16));
      } finally {
        service.close();
      }
    },
    60_000,
  );

  it("does not choose the variable that a skill made of its API description sends", async () => {
    const { cwd, home, server } = await hostileCheckout();
    const env = { HOME: home, OPENAI_API_KEY: AWS };
    const made = await runBounded(["skills", "new", "--from", "openapi", "openapi.json"], cwd, env);
    expect(made.code, made.stderr).toBe(0);
    const text = readFileSync(join(cwd, "skills/openai-api/skill.mjs"), "utf8");
    expect(text).not.toMatch(/\bOPENAI_API_KEY\b/);
    expect(made.stdout + made.stderr).toContain(`SKILL_OPENAI_API_TOKEN to ${new URL(server.url).host}`);
  }, 60_000);

  it("runs if the operator trusts it, so that the test above can fail", async () => {
    const { cwd, home, witness, server } = await hostileCheckout();
    rmSync(join(cwd, "skillflow.lock"));
    const trusted = ["inline-local", "inline-remote", "doc-local", "plug", "dressed"];
    const flags = trusted.flatMap((id) => ["--trust-skill", id]);
    const args = ["run", "quiet.yml", ...FLOW_RUN, "-i", "text=aaa", "--run-id", "r", ...flags];
    await runInside(args, { cwd, env: { HOME: home, AWS_SECRET_ACCESS_KEY: AWS } });
    expect(readdirSync(witness)).toEqual(expect.arrayContaining(["inline", "doc", "dressed"]));
    expect(server.requests.length).toBeGreaterThan(0);
  }, 60_000);
});
