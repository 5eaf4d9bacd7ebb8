import { execFile, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeProject } from "../cli/program.ts";
import { LONG } from "../harness/long.ts";
import { type Installed, installPacked } from "../harness/packed-package.ts";

/**
 * The container image, without containers: the content of its file, its steps as commands, and its program on a
 * read-only file system.
 */

const FILE = join(import.meta.dirname, "../../scripts/release/Dockerfile");
const PLACE = "/opt/skillflow";
const [build = [], image = []] = stagesOf(readFileSync(FILE, "utf8"));
const one = (word: string) => image.filter(([name]) => name === word).map(([, text]) => text);
const entry: readonly string[] = JSON.parse(one("ENTRYPOINT")[0] ?? "[]");

type Instruction = readonly [name: string, text: string];

/** Returns the instructions of each stage. */
function stagesOf(text: string): Instruction[][] {
  const lines = text
    .replace(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter(Boolean);
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, name = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === "FROM") stages.push([]);
    stages.at(-1)?.push([name, rest]);
  }
  return stages;
}

/** Runs a command with a file system that is read-only except for one folder, as `docker run --read-only` does. */
function isolated(work: string, command: readonly string[]) {
  const script = `mount --bind "$0" "$0" && mount -o remount,bind,ro / && cd "$0" && ! touch ../x 2>/dev/null && exec "$@"`;
  const args = ["--map-root-user", "--mount", "--", "sh", "-c", script, work, ...command];
  const env = {
    PATH: process.env.PATH,
    ...Object.fromEntries(one("ENV").flatMap((text) => text.split(" ").map(pairOf))),
  };
  return spawnSync("unshare", args, { encoding: "utf8", env });
}

function pairOf(text: string): readonly [string, string] {
  const [name = "", value = ""] = text.split("=");
  return [name, value];
}

const canIsolate = isolated(makeProject(), ["true"]).status === 0;

let installed: Installed;
beforeAll(async () => {
  installed = await installPacked();
}, 120_000);
afterAll(() => installed?.remove());

/** Carries out `COPY a-*.tgz b.tgz`, which is an error in Docker unless one file matches. */
function copyInto(cwd: string, context: string, text: string): void {
  const [from = "", to = ""] = text.split(" ");
  const [before = "", after = ""] = from.split("*");
  const [file, ...others] = readdirSync(context).filter((name) => name.startsWith(before) && name.endsWith(after));
  expect([file, ...others]).toEqual([expect.any(String)]);
  cpSync(join(context, file ?? ""), join(cwd, to));
}

describe("the image", () => {
  it("is slim, and runs the program as an unprivileged user", () => {
    for (const stage of [build, image]) expect(stage[0]?.[1]).toMatch(/^node:24-bookworm-slim( AS \w+)?$/);
    expect(one("USER")).toEqual(["1000:1000"]);
    expect(image.findIndex(([name]) => name === "USER")).toBeGreaterThan(
      image.findLastIndex(([name]) => name === "RUN"),
    );
    expect(one("COPY")).toEqual([`--from=package ${PLACE} ${PLACE}`]);
  });

  it.runIf(LONG)("has the program at its entry point, after steps that need no network except a registry", async () => {
    const root = makeProject();
    const context = makeProject();
    cpSync(installed.tarball, join(context, basename(installed.tarball)));
    const registry = await installed.startRegistry();
    let cwd = root;
    for (const [name, text] of build) {
      if (name === "WORKDIR") {
        cwd = join(root, text);
        mkdirSync(cwd, { recursive: true });
      }
      if (name === "COPY") copyInto(cwd, context, text);
      if (name !== "RUN") continue;
      const path = `${dirname(process.execPath)}:${process.env.PATH}`;
      const env = { PATH: path, HOME: context, npm_config_registry: registry.url };
      await promisify(execFile)("sh", ["-ec", text], { cwd, env });
    }
    await registry.close();
    expect(existsSync(join(root, entry[1] ?? ""))).toBe(true);
    expect(existsSync(join(root, PLACE, "skillflow.tgz"))).toBe(false);
  });

  it.skipIf(!canIsolate)("runs a workflow if only the project can be written", () => {
    const flow = { id: "w", name: "W", entry: "a", nodes: { a: { name: "A", instruction: "Say it." } }, edges: [] };
    const work = makeProject({ "w.json": flow, "s.json": { replies: [{ text: "done" }] } });
    const program = (entry[1] ?? "").replace(PLACE, installed.project);
    const args = ["run", "w.json", "--model", "script:s.json", "--run-id", "r"];
    const { status, stderr } = isolated(work, [process.execPath, program, ...args]);
    expect(status, stderr).toBe(0);
    expect(readFileSync(join(work, ".skillflow/runs/r.jsonl"), "utf8")).toContain("done");
  });
});
