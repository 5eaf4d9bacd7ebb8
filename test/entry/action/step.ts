import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { runAction } from "../../../src/entry/action/run.ts";
import { type Loopback, sendJson, startLoopback } from "../../../src/testing.ts";
import { runHere } from "../../cli/in-process.ts";
import { makeProject, runAt } from "../../cli/program.ts";

/** A step of a job, as the runner starts it: inputs and files in variables, and a GitHub on this machine. */

export const TOKEN = "ghs_canaryOfTheJob0123456789";

export const FLOW = { id: "w", name: "W", entry: "a", nodes: { a: { name: "A", instruction: "Say it." } }, edges: [] };
export const FILES = { "w.yml": FLOW, "s.json": { replies: [{ text: "done" }] } };
export const RUN = { workflow: "w.yml", model: "script:s.json" };

export interface Job {
  readonly inputs?: Readonly<Record<string, string>>;
  readonly event?: { readonly name: string; readonly payload?: unknown };
  readonly env?: Readonly<Record<string, string>>;
  readonly github?: { readonly url: string };
  readonly cwd?: string;
}

export interface Told {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly outputs: Readonly<Record<string, string>>;
  readonly summary: string;
  readonly cwd: string;
}

/** Runs git in a project, with an author. */
export function git(cwd: string, ...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...who, ...args], { cwd, encoding: "utf8", env: { PATH: process.env.PATH } }).trim();
}

/** A project in a repository, with one commit. Returns the commit's id. */
export function commitAll(cwd: string): string {
  git(cwd, "init", "-q", "-b", "main");
  git(cwd, "add", "-A");
  git(cwd, "commit", "-qm", "base");
  return git(cwd, "rev-parse", "HEAD");
}

/** The environment of a step, and what it left in the runner's files. */
export function prepareStep({
  inputs = RUN,
  event = { name: "push" },
  env = {},
  github,
  cwd = makeProject(FILES),
}: Job) {
  const files = mkdtempSync(join(tmpdir(), "runner-"));
  for (const name of ["output", "summary"]) writeFileSync(join(files, name), "");
  mkdirSync(join(files, "home"));
  if (event.payload !== undefined) {
    const { payload } = event;
    writeFileSync(join(files, "event.json"), typeof payload === "string" ? payload : JSON.stringify(payload));
  }
  const given = Object.entries({ "github-token": TOKEN, comment: "false", ...inputs });
  const variables: Record<string, string> = {
    HOME: join(files, "home"),
    GITHUB_ACTIONS: "true",
    GITHUB_ACTOR: "maria",
    GITHUB_TRIGGERING_ACTOR: "maria",
    GITHUB_EVENT_NAME: event.name,
    GITHUB_EVENT_PATH: join(files, "event.json"),
    GITHUB_OUTPUT: join(files, "output"),
    GITHUB_REPOSITORY: "acme/shop",
    GITHUB_STEP_SUMMARY: join(files, "summary"),
    GITHUB_WORKSPACE: cwd,
    RUNNER_TEMP: files,
    ...(github ? { GITHUB_API_URL: github.url, GITHUB_GRAPHQL_URL: `${github.url}/graphql` } : {}),
    ...env,
    ...Object.fromEntries(given.map(([name, value]) => [`INPUT_${name.toUpperCase().replaceAll("-", "_")}`, value])),
  };
  const left = () => {
    const outputs = readOutputs(readFileSync(join(files, "output"), "utf8"));
    const summary = readFileSync(join(files, "summary"), "utf8");
    rmSync(files, { recursive: true, force: true });
    return { outputs, summary };
  };
  return { env: variables, cwd, left };
}

/** Runs the step of action.yml in a folder as a runner does: with a variable for every input, by bash. */
export async function runStep(folder: string, { inputs = RUN, path, ...job }: Job & { path?: string }): Promise<Told> {
  const manifest: Manifest = parse(readFileSync(join(folder, "action.yml"), "utf8"));
  const given = Object.entries(manifest.inputs).map(([name, { default: usual = "" }]) => {
    return [`\${{ inputs.${name} }}`, inputs[name] ?? usual.replace("${{ github.token }}", TOKEN)] as const;
  });
  const values = new Map<string, string>(given);
  const { env, cwd, left } = prepareStep({ ...job, inputs: {} });
  const others = Object.entries(env).filter(([name]) => !name.startsWith("INPUT_"));
  const [step] = manifest.runs.steps;
  const variables = Object.entries(step.env).map(([name, value]) => [name, values.get(value) ?? value]);
  const script = join(env.RUNNER_TEMP ?? "", "step.sh");
  writeFileSync(script, step.run);
  const ended = await runAt(script, [], {
    cwd,
    env: {
      ...Object.fromEntries([...others, ...variables]),
      GITHUB_ACTION_PATH: folder,
      PATH: [path ?? [], dirname(process.execPath), process.env.PATH].flat().join(":"),
    },
    command: ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
  });
  return { ...ended, cwd, ...left() };
}

interface Manifest {
  readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
  readonly runs: {
    readonly steps: readonly [{ readonly env: Readonly<Record<string, string>>; readonly run: string }];
  };
}

/** Runs the action's source in this process, with the built program. */
export async function stepHere(job: Job): Promise<Told> {
  const { env, cwd, left } = prepareStep(job);
  const shown = { stdout: "", stderr: "" };
  const onText = (stream: "stdout" | "stderr", text: string) => {
    shown[stream] += text;
  };
  const code = await runAction({
    env,
    cwd: tmpdir(),
    fetch,
    say: async (text) => onText("stderr", text),
    commandLine: async ({ argv, env: given, cwd: at, writeOption }) => {
      const set = Object.entries(given).filter((pair): pair is [string, string] => pair[1] !== undefined);
      return (await runHere(argv, { cwd: at, env: Object.fromEntries(set), onText, writeOption })).code ?? 1;
    },
  });
  return { code, ...shown, cwd, ...left() };
}

/** Parses GITHUB_OUTPUT as the runner does: the last value of a repeated name applies. */
export function readOutputs(text: string): Record<string, string> {
  const found = text.matchAll(/^([\w-]+)<<(\S+)\n([\s\S]*?)\n?\2\n/gm);
  return Object.fromEntries([...found].map(([, name = "", , value = ""]) => [name, value]));
}

export interface GitHub extends Loopback {
  readonly comments: Remark[];
}

interface Remark {
  readonly id: number;
  readonly user: { readonly login: string } | null;
  body: string;
}

interface Known {
  /** The permission of each actor, by name in lower case: a permission, an answer's body, or another status. */
  readonly roles?: Readonly<Record<string, string | number | object>>;
  readonly viewer?: string;
  readonly comments?: readonly Remark[];
  /** Whether the token may write comments. */
  readonly mayComment?: boolean;
}

/** The parts of GitHub's API that a step uses, as published. */
export async function startGitHub({
  roles = {},
  viewer = "github-actions[bot]",
  comments = [],
  mayComment = true,
}: Known) {
  const kept = comments.map((comment) => ({ ...comment }));
  const service = await startLoopback(({ method, url, headers, body }, response) => {
    if (headers.authorization !== `Bearer ${TOKEN}`) return sendJson(response, 401, { message: "Bad credentials" });
    const [, actor] = /^\/repos\/acme\/shop\/collaborators\/([^/]+)\/permission$/.exec(url) ?? [];
    if (method === "GET" && actor !== undefined) {
      const role = roles[decodeURIComponent(actor).toLowerCase()] ?? 404;
      if (typeof role === "number") return sendJson(response, role, { message: "no" });
      const legacy = { maintain: "write", triage: "read" }[role as string] ?? role;
      return sendJson(response, 200, typeof role === "object" ? role : { permission: legacy, role_name: role });
    }
    if (method === "POST" && url === "/graphql")
      return sendJson(response, 200, { data: { viewer: { login: viewer } } });
    const [, page] = /^\/repos\/acme\/shop\/issues\/7\/comments\?per_page=100&page=(\d+)$/.exec(url) ?? [];
    if (method === "GET" && page !== undefined) {
      return sendJson(response, 200, kept.slice(100 * (Number(page) - 1), 100 * Number(page)));
    }
    const [, id] = /^\/repos\/acme\/shop\/issues\/comments\/(\d+)$/.exec(url) ?? [];
    const isNew = method === "POST" && url === "/repos/acme/shop/issues/7/comments";
    if (!isNew && !(method === "PATCH" && id !== undefined)) return sendJson(response, 404, { message: "Not Found" });
    const { body: text } = JSON.parse(body);
    if (!mayComment) return sendJson(response, 403, { message: "Resource not accessible by integration" });
    if (text.length > 65_536) return sendJson(response, 422, { message: "Body is too long" });
    const comment = isNew
      ? { id: kept.length + 1, user: { login: viewer }, body: "" }
      : kept.find((one) => one.id === Number(id));
    if (!comment) return sendJson(response, 404, { message: "Not Found" });
    comment.body = text;
    if (isNew) kept.push(comment);
    sendJson(response, isNew ? 201 : 200, comment);
  });
  return { ...service, comments: kept };
}
