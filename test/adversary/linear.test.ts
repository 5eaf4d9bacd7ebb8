import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LONG, spreadOf } from "../harness/long.ts";
import type { Job, Report, Work } from "./linear/attack.ts";
import { type Pattern, readSources } from "./linear/sources.ts";

/**
 * No pattern and no function of the product is superlinear in a string from outside. Each gets a megabyte of what it
 * looks for. A linear reader needs milliseconds for that and a quadratic one needs minutes. The limit is far from both.
 */

const LIMIT_MS = 60_000;

/** Functions whose parameter is never long, with the reason. */
const BOUNDED: Readonly<Record<string, string>> = {
  "src/loaders/formats/module/module-place.ts findModule, parameter 2": "a path, at most 4,096 characters",
  "src/loaders/documents/project-config.ts isInCheckout, parameter 2": "a path, at most 4,096 characters",
  "src/loaders/documents/project-config.ts loadProjectConfig, parameter 1": "a path, at most 4,096 characters",
  "src/loaders/documents/project-config.ts projectRoot, parameter 1": "a path, at most 4,096 characters",
};

const folder = mkdtempSync(join(tmpdir(), "linear-"));
const program = join(folder, "attack.cjs");
const sources = readSources();

beforeAll(async () => {
  const files = [...new Set(sources.functions.map(({ file }) => file))];
  const loads = files.map((file) => `${JSON.stringify(file)}: () => require(${JSON.stringify(resolve(file))})`);
  const attack = JSON.stringify(resolve("test/adversary/linear/attack.ts"));
  await build({
    stdin: {
      contents: `import { serve } from ${attack};\nserve({ ${loads.join(",\n")} });`,
      resolveDir: resolve("."),
    },
    bundle: true,
    platform: "node",
    format: "cjs",
    logLevel: "error",
    // Patterns that are built from parts are seen when they are built.
    define: { "import.meta.url": JSON.stringify(`file://${resolve("src/index.ts")}`), RegExp: "globalThis.SeenRegExp" },
    banner: {
      js: `globalThis.builtPatterns = [];
        globalThis.SeenRegExp = new Proxy(RegExp, {
          construct(target, given) {
            const pattern = Reflect.construct(target, given);
            const line = Number(/attack\\.cjs:(\\d+)/.exec(new Error().stack.split("\\n")[2])?.[1]);
            globalThis.builtPatterns?.push({ source: pattern.source, flags: pattern.flags, line });
            return pattern;
          },
        });`,
    },
    outfile: program,
  });
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts the process that reads. It may read files, write none and start nothing, whatever a string makes it do. */
function startReader(work: Work) {
  const execArgv = ["--experimental-permission", "--allow-fs-read=*", "--no-warnings"];
  const child = fork(program, [], { execArgv, serialization: "advanced", stdio: ["ignore", "ignore", "pipe", "ipc"] });
  child.send(work);
  return child;
}

/** The jobs that took too long, each with the string that did it. */
async function slowJobs(jobs: readonly Job[], share: number, limit = LIMIT_MS): Promise<string[]> {
  const slow: string[] = [];
  for (let from = 0; from < jobs.length; ) {
    const ended = await readFrom(jobs.slice(from), share, limit);
    if (ended.problem) slow.push(`${placeOf(jobs[from + ended.at] as Job)}: ${ended.problem}`);
    from += ended.at + 1;
  }
  return slow;
}

/** The job that stopped a reader, or the number of jobs if none did. */
async function readFrom(jobs: readonly Job[], share: number, limit: number): Promise<{ at: number; problem?: string }> {
  const child = startReader({ jobs, thorough: LONG, share });
  let said = "";
  child.stderr?.on("data", (piece) => {
    said = (said + piece).slice(-2_000);
  });
  let last = { doing: 0 } as Report;
  let timer: NodeJS.Timeout | undefined;
  child.on("message", (report: Report) => {
    last = report;
    clearTimeout(timer);
    timer = setTimeout(() => child.kill("SIGKILL"), limit);
  });
  const [code, signal] = await once(child, "exit");
  clearTimeout(timer);
  if ("done" in last) return { at: last.done };
  const text = JSON.stringify(last.pump ?? "a short string");
  const problem =
    signal === "SIGKILL" ? `over ${limit / 1000} s for ${text}` : `ended with ${code} at ${text}: ${said}`;
  return { at: last.doing, problem };
}

function placeOf(job: Job): string {
  if ("pattern" in job) return `${job.pattern.file} /${job.pattern.source}/${job.pattern.flags}`;
  return `${job.call.file} ${job.call.name}, parameter ${job.call.at + 1}`;
}

/** The patterns that the modules of the product build when they are loaded; not those of packages. */
async function builtPatterns(): Promise<Pattern[]> {
  const child = startReader("load all");
  const [[built]] = await Promise.all([once(child, "message"), once(child, "exit")]);
  const lines = readFileSync(program, "utf8").split("\n");
  const fileAt = (line: number) =>
    lines.slice(0, line).findLast((text) => /^\s*\/\/ [\w./@-]+\.[cm]?[jt]s$/.test(text));
  return (built as { source: string; flags: string; line: number }[]).flatMap(({ source, flags, line }) => {
    const file = fileAt(line)?.trim().slice(3) ?? "";
    return /^(src|skills)\//.test(file) ? [{ source, flags, file }] : [];
  });
}

test("finds patterns that are slow, and only those", async () => {
  const all = [String.raw`\s+$`, "a+b", String.raw`<!--[\s\S]*?-->`, "^(a|a)*$", String.raw`\[([^\]]*)\]\(`];
  const slow = spreadOf(all, 3);
  const fast = ["a+", String.raw`^\s+`, String.raw`"[^"\n]*"?`];
  const jobs = [...slow, ...fast].map((source) => ({ pattern: { file: "a", source, flags: "" } }));
  const found = await slowJobs(jobs, 1, 400);
  expect(found.map((problem) => problem.split(": over")[0])).toEqual(slow.map((source) => `a /${source}/`));
});

test("reads a megabyte of its own characters with every pattern of the sources", async () => {
  const built = await builtPatterns();
  expect(built.length).toBeGreaterThan(20);
  const all = [...sources.patterns, ...built];
  const patterns = new Map(all.map((pattern) => [`/${pattern.source}/${pattern.flags}`, pattern]));
  expect(patterns.size).toBeGreaterThan(500);
  expect(
    await slowJobs(
      [...patterns.values()].map((pattern) => ({ pattern })),
      LONG ? 1 : 12,
    ),
  ).toEqual([]);
}, 600_000);

const PARTS = LONG ? 4 : 1;
test.each(Array.from({ length: PARTS }, (_, part) => part + 1))(
  `reads a megabyte of its own characters with every exported function that takes a string, part %i of ${PARTS}`,
  async (part) => {
    const jobs = sources.functions
      .map((call): Job => ({ call }))
      .filter((job) => !Object.hasOwn(BOUNDED, placeOf(job)));
    expect(jobs.length).toBeGreaterThan(300);
    expect(
      await slowJobs(
        jobs.filter((_, index) => index % PARTS === part - 1),
        LONG ? 1 : 32,
      ),
    ).toEqual([]);
  },
  600_000,
);
