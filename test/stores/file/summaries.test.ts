import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Workspace } from "../../../src/app/host.ts";
import { skimAll, summarizeAll } from "../../../src/app/runs/afterwards/skims.ts";
import { summarizeRun } from "../../../src/core/engine/record/run-summary.ts";
import { digestOf } from "../../../src/files/files.ts";
import { fileStore } from "../../../src/stores/file/store.ts";
import { recordOf } from "../../contracts/triage.ts";
import { makeQuickFolder } from "../../harness/quick-folder.ts";

const MANY = 50;
const uid = process.geteuid?.();

let directory = "";
beforeEach(() => {
  directory = makeQuickFolder("summaries-");
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});

const pathOf = (run: string) => join(directory, `${run}.jsonl`);
const saved = () => join(directory, ".summaries.jsonl");

function write(run: string, status: string | null = "succeeded", kind = "run"): void {
  const event = { seq: 0, time: "2026-01-02T03:04:05.678Z", epoch: 0, key: "k" };
  const end = { ...event, type: "workflow:end", results: {}, status, reason: "done" };
  const lines = [{ ...recordOf(run), kind }, status === null ? { ...event, type: "warning" } : end];
  writeFileSync(pathOf(run), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

function writeMany(): void {
  for (let n = 0; n < MANY; n++) write(`r${n}`);
  vi.setSystemTime(Date.now() + 10_000);
}

/** Lists the runs. Returns which of them it read, and checks that the list is the same without saved summaries. */
async function list(user = uid): Promise<readonly string[]> {
  const store = fileStore({ directory, self: { pid: 1, host: "here", started: "" }, isAlive: () => true });
  const read: string[] = [];
  const skim = (run: string) => {
    read.push(run);
    return store.skim(run);
  };
  const workspace = { store: { ...store, skim }, storeDirectory: directory, host: { uid: user } };
  const found = await summarizeAll(workspace as Pick<Workspace, "store" | "storeDirectory"> as Workspace);
  expect(found).toEqual(await skimAll(store, await store.list(), summarizeRun));
  return read;
}

describe("saved summaries", () => {
  it("replace the reading of many ended runs, of every kind", async () => {
    writeMany();
    write("recheck", "succeeded", "recheck");
    write("backtest", "failed", "backtest");
    vi.setSystemTime(Date.now() + 10_000);
    expect(await list()).toHaveLength(MANY + 2);
    expect(statSync(saved()).mode & 0o777).toBe(0o600);
    expect(await list()).toEqual([]);
    expect(readdirSync(directory).filter((name) => !name.endsWith(".jsonl"))).toEqual([]);
  });

  it("are not written for few runs", async () => {
    writeMany();
    rmSync(pathOf("r7"));
    expect(await list()).toHaveLength(MANY - 1);
    expect(await list()).toHaveLength(MANY - 1);
    expect(readdirSync(directory)).toHaveLength(MANY - 1);
  });

  it("leave out runs that are not over, that cannot be read, or whose file is new", async () => {
    writeMany();
    write("running", null);
    writeFileSync(pathOf("damaged"), "{}\n");
    symlinkSync(pathOf("r1"), pathOf("link"));
    vi.setSystemTime(Date.now() + 10_000);
    await list();
    expect((await list()).toSorted()).toEqual(["damaged", "link", "running"]);
    vi.useRealTimers();
    write("r8", "failed");
    rmSync(saved());
    expect(await list()).toHaveLength(MANY + 3);
    expect(await list()).toHaveLength(MANY + 3);
  });

  it("of a run that has changed do not count", async () => {
    writeMany();
    await list();
    appendFileSync(pathOf("r1"), `${JSON.stringify({ seq: 1, time: "t", epoch: 1, key: "k", type: "warning" })}\n`);
    expect(await list()).toEqual(["r1"]);
    const { atime, mtime, size } = statSync(pathOf("r2"));
    writeFileSync(pathOf("r2"), readFileSync(pathOf("r2"), "utf8").replace('"succeeded"', '"cancelled"'));
    utimesSync(pathOf("r2"), atime, mtime);
    expect(statSync(pathOf("r2")).size).toBe(size);
    expect(await list()).toContain("r2");
    renameSync(pathOf("r3"), pathOf("r4"));
    expect(await list()).toContain("r4");
  });

  it("do not outlive the run", async () => {
    writeMany();
    await list();
    rmSync(pathOf("r1"));
    expect(await list()).toEqual([]);
    expect(readFileSync(saved(), "utf8")).not.toContain('"r1"');
    await fileStore({ directory, self: { pid: 1, host: "h", started: "" }, isAlive: () => true }).remove("r2");
    expect(readdirSync(directory)).not.toContain(".summaries.jsonl");
  });

  const lie = (text: string) => text.replaceAll('"succeeded"', '"cancelled"');
  const change = (to: (text: string) => string) => () => writeFileSync(saved(), to(readFileSync(saved(), "utf8")));
  it.each<readonly [string, () => void]>([
    ["edited", change(lie)],
    ["torn", change((text) => text.slice(0, -30))],
    ["of another version", change((text) => text.replace(/"program":"[^"]*"/, '"program":"0.0.1"'))],
    ["garbage", change(() => "\0\n{")],
    ["empty", change(() => "")],
    ["writable by others", () => chmodSync(saved(), 0o622)],
    [
      "a link",
      () => {
        renameSync(saved(), join(directory, "elsewhere"));
        symlinkSync("elsewhere", saved());
      },
    ],
    ["a run's record", change(() => readFileSync(pathOf("r1"), "utf8"))],
  ])("in a file that is %s do not count, and are replaced", async (_, spoil) => {
    writeMany();
    await list();
    spoil();
    vi.setSystemTime(Date.now() + 20_000);
    expect(await list()).toHaveLength(MANY);
    expect(await list()).toEqual([]);
  });

  it.each([{ summary: { id: "r0", verdict: "fine" } }, null])(
    "that a checkout contains, as %j, do not count",
    async (entry) => {
      writeMany();
      await list();
      write("r0");
      const [head = ""] = readFileSync(saved(), "utf8").split("\n");
      const line = JSON.stringify(entry);
      const forged = JSON.stringify({ ...JSON.parse(head), digest: digestOf(line) });
      writeFileSync(saved(), `${forged}\n${line}`);
      vi.useRealTimers();
      expect(await list()).toContain("r0");
    },
  );

  it.skipIf(uid === undefined)("of another user do not count", async () => {
    writeMany();
    await list();
    expect(await list((uid ?? 0) + 1)).toHaveLength(MANY);
  });

  it("are left out silently if they cannot be written", async () => {
    writeMany();
    mkdirSync(saved());
    expect(await list()).toHaveLength(MANY);
    expect(await list()).toHaveLength(MANY);
    expect(readdirSync(directory)).toHaveLength(MANY + 1);
    rmSync(saved(), { recursive: true });
    chmodSync(directory, 0o500);
    expect(await list()).toHaveLength(MANY);
    chmodSync(directory, 0o700);
  });

  it("survive a process that was killed while it wrote them, and lists at the same time", async () => {
    writeMany();
    await list();
    writeFileSync(join(directory, ".0b5c"), readFileSync(saved()).subarray(0, 900));
    expect(await list()).toEqual([]);
    rmSync(saved());
    await Promise.all([list(), list(), list()]);
    expect(await list()).toEqual([]);
  });
});
