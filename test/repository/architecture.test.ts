import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";

/**
 * The project's rules, checked on its sources: which folder imports which, what core may not do, where the process is
 * used.
 */

const ROOT = join(import.meta.dirname, "..", "..");

interface SourceFile {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

function readSources(): SourceFile[] {
  return ["src", "skills"].flatMap((folder) => {
    const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
    const files = names.filter((name) => name.endsWith(".ts")).map((name) => join(ROOT, folder, name));
    return files.map((file) => ({
      path: relative(ROOT, file).replaceAll("\\", "/"),
      text: readFileSync(file, "utf8"),
    }));
  });
}

interface Import {
  readonly target: string;
  readonly kind: "static" | "type" | "lazy";
}

function importsOf(text: string): Import[] {
  const fixed = [...text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)"/gm)];
  const bare = [...text.matchAll(/^import\s+"([^"]+)"/gm)];
  const lazy = [...text.matchAll(/\bimport\(\s*"([^"]+)"/g)];
  return [
    ...fixed.map((match): Import => ({ target: match[2] ?? "", kind: match[1] ? "type" : "static" })),
    ...bare.map((match): Import => ({ target: match[1] ?? "", kind: "static" })),
    ...lazy.map((match): Import => ({ target: match[1] ?? "", kind: "lazy" })),
  ];
}

/** `src/cli/commands/run.ts` -> `cli`; `src/index.ts` -> `index`; `skills/logs/skill.ts` -> `skills/logs`. */
function roomOf(path: string): string {
  const [top, second = "", third] = path.split("/");
  if (top === "skills") return `skills/${second}`;
  return third === undefined ? second.replace(/\.ts$/, "") : second;
}

/** The folders that each folder may import, in addition to itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  entry: ["cli", "app", "core"],
  index: ["entry", "kit", "loaders", "stores", "models", "files", "core"],
  testing: ["entry", "kit", "loaders", "stores", "models", "files", "core"],
  cli: ["protocol", "app", "reports", "files", "core"],
  protocol: ["app", "files", "core"],
  app: ["run", "loaders", "models", "stores", "sandbox", "reports", "files", "core"],
  loaders: ["files", "core"],
  stores: ["files", "core"],
  sandbox: ["files", "core"],
  run: ["core"],
  models: ["core"],
  reports: ["core"],
  kit: ["core"],
  files: ["core"],
  core: [],
};

/** Folders that the public entries never reach, also not through others. */
const NOT_PUBLIC = ["cli", "protocol"];

/**
 * Folders and files inside a folder, lowest first. Each may import itself and those before it. `.` stands for the other
 * files.
 */
const INNER_ORDER: Readonly<Record<string, readonly string[]>> = {
  "src/core": ["base", "skill", "document", "engine", "outward"],
  "src/core/document": [
    "workflow",
    "config.ts",
    "inner",
    "model-name.ts",
    "policy.ts",
    "condition.ts",
    "value-rule.ts",
    "fill.ts",
    "inputs.ts",
    "check",
    "listen",
  ],
  "src/core/engine": [
    "event",
    "ports.ts",
    "settings",
    "state",
    "tools",
    "plan",
    "evidence",
    "fold",
    "recheck",
    "finding",
    "decide",
    "result",
    "record",
  ],
  "src/core/outward": ["taint", "testing", "published.ts"],
  "src/loaders": ["text", "documents", "sources", "folder", "programs", "trust", "mcp", "formats", "registry", "own"],
  "src/stores": [".", "file", "state", "dbos"],
};
/** Files and folders in one folder. */
const MOST_DOORS = 15;
/** Lines of a file. */
const MOST_LINES = 400;

const PURE_PACKAGES = ["zod", "ajv", "ajv/dist/2020.js", "ajv-formats", "yaml"];
/** Packages that cost start-up time: loaded inside the function that needs them. */
const LAZY_PACKAGES =
  /^(@anthropic-ai\/sdk|openai|@octokit\/|@linear\/|@slack\/|@supabase\/|@sentry\/|nodemailer|undici|zod-to-json-schema|jiti|@modelcontextprotocol\/|quickjs-emscripten|@dbos-inc\/|pg$)/;
/** The folders that wrap an SDK. The command line has a separate file for reports of its faults. */
const SDK_ROOMS = /^(models|loaders|stores|app|protocol|sandbox|skills\/.*)$/;
const mayUseSdk = (path: string, target: string) =>
  SDK_ROOMS.test(roomOf(path)) || (path === "src/cli/crash.ts" && target === "@sentry/node");

const IMPURE = [
  [/\bawait\b|\basync\b/, "waits"],
  [/\bDate\.now\b|\bnew Date\b(?!\([^)])|\bperformance\b/, "reads a clock"],
  [/\bMath\.random\b|\bcrypto\b/, "uses chance"],
  [/\bset(?:Timeout|Interval|Immediate)\b/, "waits"],
  [/\bconsole\b/, "prints"],
] as const;

function violations(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => [
    ...importViolations(file),
    ...orderViolations(file),
    ...purityViolations(file),
    ...processViolations(file),
    ...placeViolations(file),
    ...shellViolations(file),
    ...hintViolations(file),
  ]);
}

function importViolations({ path, text }: SourceFile): string[] {
  const room = roomOf(path);
  return importsOf(text).flatMap(({ target, kind }) => {
    const inside = targetOf(path, target);
    if (inside !== undefined) {
      const other = roomOf(inside);
      const allowed = other === room || (MAY_IMPORT[room] ?? []).includes(other);
      return allowed ? [] : [`${path}: ${room} may not import ${other}`];
    }
    if (LAZY_PACKAGES.test(target) && kind === "static") return [`${path}: ${target} is not imported lazily`];
    if (LAZY_PACKAGES.test(target) && !mayUseSdk(path, target)) return [`${path}: ${room} may not use ${target}`];
    if (room === "core" && !PURE_PACKAGES.includes(target)) return [`${path}: core may not use ${target}`];
    if (room.startsWith("skills/") && !isForSkills(target)) return [`${path}: a skill may not use ${target}`];
    return [];
  });
}

function orderViolations({ path, text }: SourceFile): string[] {
  return Object.entries(INNER_ORDER).flatMap(([folder, order]) => {
    const from = doorOf(folder, path, order);
    if (from === undefined) return [];
    return importsOf(text).flatMap(({ target }) => {
      const to = doorOf(folder, targetOf(path, target) ?? "", order);
      const isBack = to !== undefined && order.indexOf(to) > order.indexOf(from);
      return isBack ? [`${path}: in ${folder}, ${from} may not import ${to}`] : [];
    });
  });
}

/** In `src/core`: `src/core/engine/fold/fold.ts` -> `engine`. Undefined for a file that is not in the folder. */
function doorOf(folder: string, path: string, order: readonly string[]): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  const [door = "", file] = path.slice(folder.length + 1).split("/");
  return file !== undefined || order.includes(door) ? door : ".";
}

function targetOf(path: string, target: string): string | undefined {
  return target.startsWith(".") ? relative(".", join(path, "..", target)).replaceAll("\\", "/") : undefined;
}

/** Each group of files that import each other, types included. */
function circles(files: readonly SourceFile[]): string[] {
  const imports = new Map(
    files.map(({ path, text }) => {
      const known = importsOf(text).filter(({ kind }) => kind !== "lazy");
      return [path, known.flatMap(({ target }) => targetOf(path, target) ?? [])];
    }),
  );
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) found.push([...way.slice(way.indexOf(path)), path].join(" -> "));
    if (done.has(path)) return;
    done.add(path);
    for (const next of imports.get(path) ?? []) walk(next, [...way, path]);
  };
  for (const { path } of files) walk(path, []);
  return found;
}

/** The folders that the public entries reach, directly or not. */
function publicViolations(files: readonly SourceFile[]): string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const reached = new Set(["src/index.ts", "src/kit/internal.ts", "src/testing.ts"]);
  for (const path of reached) {
    for (const { target, kind } of importsOf(texts.get(path) ?? "")) {
      const other = targetOf(path, target);
      if (other !== undefined && kind !== "type") reached.add(other);
    }
  }
  const found = [...reached].filter((path) => NOT_PUBLIC.includes(roomOf(path)));
  return found.map((path) => `the public entries reach ${path}`);
}

function crowdedRooms(files: readonly SourceFile[]): string[] {
  const doors = new Map<string, Set<string>>();
  for (const { path } of files) {
    const parts = path.split("/");
    for (const [depth, door] of parts.entries()) {
      const room = parts.slice(0, depth).join("/");
      // All skills have the same structure.
      if (room !== "" && room !== "skills") doors.set(room, (doors.get(room) ?? new Set()).add(door));
    }
  }
  const crowded = [...doors].filter(([, { size }]) => size > MOST_DOORS);
  return crowded.map(([room, { size }]) => `${room} opens on ${size} files and folders`);
}

function longFiles(files: readonly SourceFile[]): string[] {
  const long = files.filter(({ text }) => text.split("\n").length > MOST_LINES + 1);
  return long.map(({ path }) => `${path} has more than ${MOST_LINES} lines`);
}

function isForSkills(target: string): boolean {
  return (
    ["skillflow", "skillflow/internal", "zod", "yaml"].includes(target) ||
    target.startsWith("node:") ||
    LAZY_PACKAGES.test(target)
  );
}

function purityViolations({ path, text }: SourceFile): string[] {
  if (roomOf(path) !== "core") return [];
  const code = withoutCommentsAndText(text);
  return IMPURE.filter(([pattern]) => pattern.test(code)).map(([, what]) => `${path}: core ${what}`);
}

/** The program's own process, the parts of its user's process that the library uses, and a skill's work at its end. */
const TOUCHES_PROCESS = [
  "skills/git/repository.ts",
  "src/entry/bin.ts",
  "src/entry/command-line.ts",
  "src/entry/process-host.ts",
  "src/entry/action/entry.ts",
];

function processViolations({ path, text }: SourceFile): string[] {
  if (TOUCHES_PROCESS.includes(path)) return [];
  return /\bprocess\s*\.|globalThis\.process|node:process/.test(withoutCommentsAndText(text)) ||
    /from "node:process"/.test(text)
    ? [`${path}: only ${TOUCHES_PROCESS.join(" and ")} touch the process`]
    : [];
}

function placeViolations({ path, text }: SourceFile): string[] {
  const found: string[] = [];
  if (/\/(utils|helpers|common|types)(\/|\.ts$)/.test(path))
    found.push(`${path}: a function lives where its noun lives`);
  if (path.endsWith("/index.ts") && path !== "src/index.ts") found.push(`${path}: no index.ts inside folders`);
  if (path === "src/index.ts" && /export\s*\*/.test(text)) found.push(`${path}: the public surface is written by hand`);
  return found;
}

/** Each interface formats options differently, so shared code refers to them as data. */
function hintViolations({ path, text }: SourceFile): string[] {
  const isShared =
    ["core", "run", "models", "stores", "app"].includes(roomOf(path)) && !path.startsWith("src/app/testing/");
  return isShared && /\bhint(?:: Hint)?(?::| =) *\[?[`"][^`"]*--[a-z]/.test(text)
    ? [`${path}: a hint names options, not flags`]
    : [];
}

/** No shell is ever used. */
function shellViolations({ path, text }: SourceFile): string[] {
  const imported = /import\s*\{([^}]*)\}\s*from "node:child_process"/.exec(text)?.[1] ?? "";
  const viaShell = /\bexec(Sync)?\b/.test(imported) || /\bshell:/.test(withoutCommentsAndText(text));
  return viaShell ? [`${path}: no shell, ever`] : [];
}

function withoutCommentsAndText(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|[^:"'`])\/\/.*$/gm, "$1")
    .replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, '""');
}

describe("the architecture", () => {
  it("holds in every source file", () => {
    const files = readSources();
    expect(files.length).toBeGreaterThan(50);
    expect(violations(files)).toEqual([]);
  });

  it("has no circular imports, including types", () => {
    expect(circles(readSources())).toEqual([]);
    const [a, b] = ['import { b } from "./b.ts";', 'import type { A } from "./a.ts";'];
    expect(
      circles([
        { path: "src/a.ts", text: a ?? "" },
        { path: "src/b.ts", text: b ?? "" },
      ]),
    ).toEqual(["src/a.ts -> src/b.ts -> src/a.ts"]);
  });

  it("keeps the command line and the servers out of the library", () => {
    expect(publicViolations(readSources())).toEqual([]);
    expect(
      publicViolations([
        { path: "src/index.ts", text: 'export { a } from "./entry/a.ts";' },
        { path: "src/entry/a.ts", text: 'const { b } = await import("../cli/b.ts");' },
      ]),
    ).toEqual(["the public entries reach src/cli/b.ts"]);
  });

  it("keeps each folder small enough to survey", () => {
    expect(crowdedRooms(readSources())).toEqual([]);
    const crowd = Array.from({ length: MOST_DOORS + 1 }, (_, n) => ({ path: `src/run/${n}.ts`, text: "" }));
    expect(crowdedRooms(crowd)).toHaveLength(1);
  });

  it("keeps the root short", () => {
    const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    const entries = new Set(
      listed
        .trim()
        .split("\n")
        .map((path) => path.split("/")[0]),
    );
    expect(entries.size, [...entries].join(" ")).toBeLessThanOrEqual(22);
  });

  it("keeps each file short enough to read", () => {
    expect(longFiles(readSources())).toEqual([]);
    expect(longFiles([{ path: "src/run/a.ts", text: "\n".repeat(MOST_LINES + 1) }])).toHaveLength(1);
  });

  it.each<[string, string, string]>([
    ["core that imports a sibling", "src/core/a.ts", 'import { x } from "../run/drive.ts";'],
    [
      "a skill's type that knows the engine",
      "src/core/skill/a.ts",
      'import type { State } from "../engine/fold/state.ts";',
    ],
    ["a folder that knows the registry", "src/loaders/folder/a.ts", 'import { b } from "../registry/open.ts";'],
    [
      "a check that the workflow's shape knows",
      "src/core/document/workflow/a.ts",
      'import { b } from "../check/paths.ts";',
    ],
    ["an event that knows the fold", "src/core/engine/event/a.ts", 'import type { State } from "../fold/state.ts";'],
    ["core that imports node", "src/core/a.ts", 'import { readFileSync } from "node:fs";'],
    ["core that imports an SDK", "src/core/a.ts", 'import type OpenAI from "openai";'],
    ["core that awaits", "src/core/a.ts", "export const f = async () => await g();"],
    ["core that reads a clock", "src/core/a.ts", "export const now = Date.now();"],
    ["core that asks for the present date", "src/core/a.ts", "export const now = new Date();"],
    ["core that uses chance", "src/core/a.ts", "export const n = Math.random();"],
    ["a model that knows a store", "src/models/a.ts", 'import { fileStore } from "../stores/file/store.ts";'],
    ["a loader that knows the app", "src/loaders/a.ts", 'import { openProject } from "../app/workspace.ts";'],
    ["run that knows a model", "src/run/a.ts", 'import { openaiModel } from "../models/openai.ts";'],
    ["a command that names an adapter", "src/cli/a.ts", 'const { replayModel } = await import("../models/replay.ts");'],
    ["an SDK imported at start-up", "src/models/a.ts", 'import OpenAI from "openai";'],
    ["a store that knows the engine's", "src/stores/a.ts", 'import { dbosStore } from "./dbos/store.ts";'],
    ["an SDK outside its room", "src/cli/a.ts", 'const { Octokit } = await import("@octokit/rest");'],
    ["a crash reporter at start-up", "src/cli/crash.ts", 'import { init } from "@sentry/node";'],
    ["a crash reporter outside its file", "src/cli/a.ts", 'const { init } = await import("@sentry/node");'],
    ["a skill that reaches into the source", "skills/a/skill.ts", 'import { x } from "../../src/core/values.ts";'],
    ["a skill that reaches into another", "skills/a/skill.ts", 'import { x } from "../b/skill.ts";'],
    ["a skill with a package of its own", "skills/a/skill.ts", 'import got from "got";'],
    ["the process outside bin.ts", "src/cli/a.ts", "export const home = process.env.HOME;"],
    ["the process in a skill", "skills/a/skill.ts", "const { env } = globalThis.process;"],
    ["a flag in a hint", "src/stores/a.ts", 'throw new SkillflowError("store.failed", "m", { hint: "use --store" });'],
    ["a shell", "skills/a/skill.ts", 'import { exec } from "node:child_process";'],
    ["a shell by option", "src/run/a.ts", 'spawn("ls", [], { shell: true });'],
    ["a room for leftovers", "src/core/utils.ts", "export const x = 1;"],
    ["an index inside a folder", "src/core/index.ts", "export const x = 1;"],
    ["a public surface that is not written by hand", "src/index.ts", 'export * from "./core/skill.ts";'],
  ])("reports %s", (_what, path, text) => {
    expect(violations([{ path, text }])).toHaveLength(1);
  });

  it("accepts what only looks like a violation", () => {
    const text = '// process.env is for bin.ts\nexport const hint = "process.exit";\nexport type F = typeof fetch;';
    expect(violations([{ path: "src/core/a.ts", text }])).toEqual([]);
  });
});
