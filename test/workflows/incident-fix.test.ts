import { type ChildProcess, execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { parse } from "yaml";
import { runHere } from "../cli/in-process.ts";
import { runProgram } from "../cli/program.ts";
import { LONG, oneOf } from "../harness/long.ts";
import { serveForge } from "../services/forges.ts";

const it = oneOf(4);

/** Fixes of shipped incidents: the finding, the test that fails, the change that makes it pass, and its pull request. */

const root = join(import.meta.dirname, "..", "..");
const desk = mkdtempSync(join(tmpdir(), "fix-"));
afterAll(() => rmSync(desk, { recursive: true }));
const shipped = (name: string) => join(root, "workflows", name);
const AS = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", [...AS, ...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

interface Place {
  readonly cwd: string;
  readonly remote: string;
}

/** Clones an incident's repository, with a bare one as its origin. */
function clone(name: string, bundle: string): Place {
  const [cwd, remote] = [join(desk, name), join(desk, `${name}.git`)];
  git(desk, "clone", "-q", "--bare", shipped(`incidents/${bundle}`), remote);
  git(desk, "clone", "-q", remote, cwd);
  return { cwd, remote };
}

const env = { WORKSPACE_COMMANDS: "node --test **\nnode test/all.js **" };
const FIX = ["run", shipped("incident-fix.yml"), "--json", "--no-discover"];
const call = (tool: string, input: object) => ({ tool: `workspace_${tool}`, input });

interface Turn {
  readonly node: string;
  readonly [part: string]: unknown;
}

/** Runs the workflow with these replies, and returns the exit code and the result. */
async function fix(
  { cwd }: Pick<Place, "cwd">,
  run: string,
  replies: readonly Turn[],
  input: object,
  more: string[] = [],
) {
  const script = join(desk, `${run}.json`);
  writeFileSync(script, JSON.stringify({ replies }));
  const args = ["--model", `script:${script}`, "--run-id", run, "--input", JSON.stringify(input), ...more];
  const { code, stdout } = await runHere([...FIX, ...args], { cwd, env });
  return { code, result: JSON.parse(stdout) };
}

const ended = (result: { trace: { steps: { node: string }[] }; error?: { node?: string; message: string } }) => ({
  path: result.trace.steps.map(({ node }) => node),
  at: result.error?.node,
});
const recordOf = (cwd: string, run: string) => join(cwd, ".skillflow/runs", `${run}.jsonl`);
const WHOLE = ["read", "reproduce", "red", "fix", "green", "review", "propose"];

describe("the leak of checkout-5xx, from the finding of its triage", () => {
  // Other tests of the repository depend on how fast the machine is.
  const COMMAND = "node --test test/orders.test.js";
  const main = "main";
  let place: Place;
  let operation: { digest: string; branch: string; body: string; diff: string; proof: object };

  beforeAll(async () => {
    place = clone("checkout", "checkout-5xx/checkout.bundle");
    mkdirSync(join(place.cwd, ".skillflow/runs"), { recursive: true });
    copyFileSync(shipped("incident-triage.run.jsonl"), join(place.cwd, ".skillflow/runs/incident-triage.jsonl"));
    const { replies } = parse(readFileSync(shipped("incident-fix.script.yml"), "utf8"));
    const from = ["--from-run", "incident-triage", "--out", join(desk, "out")];
    const { code, result } = await fix(place, "one", replies, { test_command: COMMAND }, from);
    expect([code, ended(result).path]).toEqual([0, WHOLE]);
    const closed = result.results.fix.toolCalls.map(({ error }: { error?: string }) => error);
    expect(closed).toEqual([
      '"test/declined.test.js" was changed by a node whose files this node must keep',
      '"package.json" is closed to this node',
      undefined,
    ]);
    [operation] = result.plan;
    copyFileSync(recordOf(place.cwd, "one"), join(desk, "one.jsonl"));
  }, 120_000);

  /** Marks the plan of a project as not applied. */
  const restore = (cwd: string) => copyFileSync(join(desk, "one.jsonl"), recordOf(cwd, "one"));

  it("is red before, green after, and both are in the plan", async () => {
    const proof = { command: COMMAND, files: ["test/declined.test.js"], before: 1, after: 0 };
    expect(operation).toMatchObject({
      kind: "patch",
      proof: { ...proof, references: [expect.stringMatching(/^r\d+$/), expect.stringMatching(/^r\d+$/)] },
      base: git(place.cwd, "rev-parse", "HEAD"),
      files: [{ path: "src/orders.js" }, { path: "test/declined.test.js", change: "added" }],
      title: "Release the connection of a declined payment",
    });
    expect(operation.body).toContain("**Changes of behavior**\n\n- A declined payment no longer keeps a connection");
    const reports = { md: join(desk, "plan.md"), html: join(desk, "plan.html") };
    const asked = Object.entries(reports).flatMap(([kind, path]) => ["--report", `${kind}=${path}`]);
    expect((await runHere(["apply", "one", ...asked], { cwd: place.cwd })).code).toBe(0);
    for (const path of Object.values(reports)) {
      const text = readFileSync(path, "utf8").replace(/<[^>]*>|`/g, "");
      expect(text).toContain(
        "node --test test/orders.test.js test/declined.test.js exited with 1 at the base and 0 with the change",
      );
      expect(text).toContain("+      pool.release(connection);");
    }
  });

  it("becomes one branch of a bare repository", async () => {
    const { cwd, remote } = place;
    const applied = await runHere(["apply", "one", "--yes", "--json"], { cwd });
    expect(applied.code).toBe(0);
    expect(git(remote, "show", `${operation.branch}:src/orders.js`)).toContain(
      "pool.release(connection);\n      return {",
    );
    const again = await runHere(["apply", "one", "--yes", "--json"], { cwd });
    expect(JSON.parse(again.stdout).operations).toMatchObject([{ status: "already_applied" }]);
    expect(git(remote, "branch", "--list", "skillflow/*").split("\n")).toHaveLength(1);
    git(remote, "branch", "-D", operation.branch);
  });

  it.each([
    ["github", "GITHUB_TOKEN", (url: string) => ({ GITHUB_API_URL: url })],
    ["gitlab", "GITLAB_TOKEN", (url: string) => ({ GITLAB_URL: url })],
  ] as const)("becomes a draft request on %s, with the proof in its text", async (vendor, token, address) => {
    const { cwd, remote } = place;
    const service = await serveForge(vendor, remote);
    const copied = join(desk, vendor);
    execFileSync("cp", ["-r", cwd, copied]);
    git(copied, "remote", "set-url", "origin", "https://127.0.0.1/o/r.git");
    restore(copied);
    const config = address(service.address);
    const without = await runHere(["apply", "one", "--yes"], { cwd: copied, env: config });
    expect([without.code, without.stderr]).toEqual([3, expect.stringContaining(token)]);
    const { code, stdout } = await runHere(["apply", "one", "--yes", "--json"], {
      cwd: copied,
      env: { ...config, [token]: "key" },
    });
    expect([code, JSON.parse(stdout).operations]).toMatchObject([
      0,
      [{ status: "applied", result: { branch: operation.branch } }],
    ]);
    const [request = {}] = service.requests;
    expect(JSON.stringify(request)).toContain(`"${operation.branch}"`);
    expect(String(request.body ?? request.description)).toContain(
      "`node --test test/orders.test.js test/declined.test.js`\n\n- before the change: exit code 1\n- with the change: exit code 0",
    );
    expect(request.draft === true || String(request.title).startsWith("Draft: ")).toBe(true);
    expect(git(remote, "rev-list", "--count", `${main}..${operation.branch}`)).toBe("1");
    git(remote, "branch", "-D", operation.branch);
  });

  it("is refused if the default branch has changed the same lines", async () => {
    const { cwd, remote } = place;
    const other = join(desk, "upstream");
    git(desk, "clone", "-q", remote, other);
    const file = join(other, "src/orders.js");
    writeFileSync(file, readFileSync(file, "utf8").replace('status: "declined", reason', 'status: "refused", reason'));
    git(other, "commit", "-qam", "Rename the status");
    git(other, "push", "-q");
    restore(cwd);
    const { code, stdout } = await runHere(["apply", "one", "--yes", "--json"], { cwd });
    expect([code, JSON.parse(stdout).operations]).toMatchObject([
      1,
      [{ status: "refused", error: "the base has moved and the change conflicts in src/orders.js" }],
    ]);
    expect(git(remote, "branch", "--list", "skillflow/*")).toBe("");
  });
});

it("passes its tests, which need no repository", async () => {
  const { code, stderr } = await runHere(["test", "workflows/fix"], { cwd: root });
  expect([code, stderr]).toEqual([0, expect.stringContaining("4 passed")]);
});

const REVIEWED = { does_what_the_cause_says: true, more_than_that: [], behaviour_changes: [] };
const answers = (node: string, data: object) => ({ node, data });
const reproduces = (path: string, content: string): Turn[] => [
  { node: "reproduce", calls: [call("write_file", { path, content })] },
  answers("reproduce", { cause: "the cause", shows: "the fault" }),
];
const fixes = (path: string, content: string): Turn[] => [
  { node: "fix", calls: [call("write_file", { path, content })] },
  answers("fix", { title: "Mend it", summary: "It is mended." }),
];

describe("the lost index of slow-search, from an issue", () => {
  const TEST = `import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";


const folder = new URL("../migrations/", import.meta.url);

test("the column of searches by brand has an index", async () => {
  const indexes = new Map();
  for (const name of readdirSync(folder).sort()) {
    for (const step of (await import(new URL(name, folder))).up) {
      if (step.createIndex) indexes.set(step.createIndex, step.column);
      if (step.dropIndex) indexes.delete(step.dropIndex);
    }
  }
  const search = readFileSync(new URL("../src/search.js", import.meta.url), "utf8");
  assert.match(search, /brand_key/);
  assert.ok([...indexes.values()].includes("brand_key"));
});
`;
  const INDEX = `export const up = [{ createIndex: "products_brand_key_idx", table: "products", column: "brand_key" }];\n`;

  it("is proven, planned and pushed", async () => {
    const { cwd, remote } = clone("catalog", "slow-search/catalog.bundle");
    const replies = [
      ...reproduces("test/indexes.test.js", TEST),
      ...fixes("migrations/0003-index-brand-keys.js", INDEX),
      answers("review", REVIEWED),
    ];
    const input = { issue: "# Searches by brand time out\n\nSince 2.4.0.", test_command: "node --test" };
    const { code, result } = await fix({ cwd }, "one", replies, input);
    expect([code, ended(result).path]).toEqual([0, WHOLE]);
    expect(result.plan).toMatchObject([
      { diff: expect.stringContaining("+export const up"), proof: { before: 1, after: 0 } },
    ]);
    expect((await runHere(["apply", "one", "--yes"], { cwd })).code).toBe(0);
    expect(git(remote, "show", `${result.plan[0].branch}:migrations/0003-index-brand-keys.js`)).toBe(INDEX.trim());
  });
});

/** A project whose `sub` is right only because `add` is wrong. Its runner takes files, or runs all tests. */
const MATH = {
  "src/math.js": "exports.add = (a, b) => a - b;\nexports.sub = (a, b) => exports.add(a, b);\n",
  "test/sub.test.js": "require('assert').equal(require('../src/math.js').sub(3, 1), 2);\n",
  "test/all.js": `const { join } = require("path");
const all = require("fs").readdirSync(__dirname).filter((name) => name.endsWith(".test.js")).map((name) => "test/" + name);
for (const file of process.argv.length > 2 ? process.argv.slice(2) : all) require(join(__dirname, "..", file));
`,
  ".skillflow.yml": "workspace: { test: node test/all.js }\n",
};
const SUM = "require('assert').equal(require('../src/math.js').add(1, 2), 3);\n";
const HALF = MATH["src/math.js"].replace("a - b", "a + b");
const RIGHT = HALF.replace("exports.add(a, b)", "a - b");

function math(name: string): Place {
  const [cwd, remote] = [join(desk, name), join(desk, `${name}.git`)];
  git(desk, "init", "-q", "-b", "main", cwd);
  for (const [path, text] of Object.entries(MATH)) {
    mkdirSync(join(cwd, path, ".."), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  git(cwd, "add", "-A");
  git(cwd, "commit", "-qm", "start");
  git(desk, "clone", "-q", "--bare", cwd, remote);
  git(cwd, "remote", "add", "origin", remote);
  return { cwd, remote };
}

describe("a fix without proof", () => {
  let place: Place;
  beforeAll(() => {
    place = math("math");
  });
  const input = { issue: "1 + 2 is -1" };

  it("does not start without a command or a fault", async () => {
    const { cwd } = place;
    const without = await runHere([...FIX, "--model", "script:x.json"], { cwd, env });
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('input "issue" is missing')]);
    const config = join(cwd, ".skillflow.yml");
    rmSync(config);
    const none = await runHere([...FIX, "--model", "script:x.json", "--input", JSON.stringify(input)], { cwd, env });
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('input "test_command" is missing')]);
    writeFileSync(config, MATH[".skillflow.yml"]);
  });

  it.each([
    ["a test that passes at the base", reproduces("test/new.test.js", "1;\n"), "red", "test.exit_code is 0"],
    ["a test that is not one by its name", reproduces("src/new.js", SUM), "red", "test is missing"],
    ["a command that no one allowed", reproduces("test/new.test.js", SUM), "red", "is not an allowed command"],
    [
      "a secret in the change",
      [
        ...reproduces("test/new.test.js", SUM),
        ...fixes("src/math.js", `${RIGHT}// ghp_${"a1".repeat(18)}\n`),
        answers("review", REVIEWED),
      ],
      "propose",
      "src/math.js:3 contains a secret",
    ],
  ] as const)("ends at %s", async (what, replies, at, message) => {
    const more = what.includes("command") ? { test_command: "node other.js" } : {};
    const { code, result } = await fix(place, what.replaceAll(" ", "-"), replies, { ...input, ...more });
    expect([code, ended(result).at, result.plan]).toEqual([1, at, []]);
    expect(result.error.message).toContain(message);
  });
});

describe("a fix whose processes are killed", () => {
  it("ends with one branch and one request, after a fix that broke another test", async () => {
    const { cwd, remote } = math("killed");
    const service = await serveForge("github", remote);
    git(cwd, "remote", "set-url", "origin", "https://127.0.0.1/o/r.git");
    const replies = [
      ...reproduces("test/new.test.js", SUM),
      ...fixes("src/math.js", HALF),
      ...fixes("src/math.js", RIGHT),
      answers("review", REVIEWED),
    ];
    const script = join(desk, "killed.json");
    writeFileSync(script, JSON.stringify({ replies }));
    const folder = join(cwd, ".skillflow/runs");
    mkdirSync(folder, { recursive: true });
    const config = { ...env, GITHUB_API_URL: service.address, GITHUB_TOKEN: "key" };
    /** Runs the program, and kills it when its record has been written to this often. */
    const killed = async (args: string[], records: number, onStart?: (child: ChildProcess) => void) => {
      let left = records;
      let child: ChildProcess | undefined;
      const watcher = watch(folder, (_event, name) => {
        if (name === "one.jsonl" && --left === 0) child?.kill("SIGKILL");
      });
      const start = (started: ChildProcess) => {
        child = started;
        onStart?.(started);
      };
      const done = await runProgram(args, { cwd, env: config, onStart: start });
      watcher.close();
      return done;
    };
    const model = ["--model", `script:${script}`];
    const run = [
      ...FIX,
      ...model,
      "--run-id",
      "one",
      "--writes",
      "plan",
      "--input",
      JSON.stringify({ issue: "1 + 2 is -1" }),
    ];
    let kills = 0;
    for (const records of LONG ? [1, 3, 2, 5, 4, 6, 9, 3, 7] : [5, 9, 14]) {
      const args = existsSync(recordOf(cwd, "one")) ? ["resume", "one", ...model, "--json"] : run;
      if ((await killed(args, records)).signal === "SIGKILL") kills += 1;
    }
    const { code, stdout } = await runHere(["resume", "one", ...model, "--json"], { cwd, env: config });
    const result = JSON.parse(stdout);
    expect([kills > 1, code]).toEqual([true, 0]);
    expect(ended(result).path).toEqual([...WHOLE.slice(0, 5), ...WHOLE.slice(3)]);
    expect(result.plan).toMatchObject([{ proof: { before: 1, after: 0 } }]);
    const apply = ["apply", "one", "--yes", "--json"];
    for (const write of LONG ? [1, 2, 3, 4, 5] : [3, 4]) {
      await killed(apply, 0, (child) => {
        service.writes.length = 0;
        service.onWrite = () => void (service.writes.length === write && child.kill("SIGKILL"));
      });
    }
    service.onWrite = () => undefined;
    const applied = await runHere(apply, { cwd, env: config });
    expect([applied.code, JSON.parse(applied.stdout).operations]).toMatchObject([
      0,
      [{ result: { url: expect.any(String) } }],
    ]);
    expect(service.requests).toHaveLength(1);
    const [{ branch }] = result.plan;
    expect(git(remote, "branch", "--list", "skillflow/*")).toBe(branch);
    expect(git(remote, "rev-list", "--count", `main..${branch}`)).toBe("1");
    expect(git(remote, "show", `${branch}:src/math.js`)).toBe(RIGHT.trim());
  }, 240_000);
});
