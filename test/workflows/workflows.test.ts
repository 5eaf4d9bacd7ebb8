import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openRecording } from "../../src/app/adapters/stores.ts";
import type { Host } from "../../src/app/host.ts";
import { startRun } from "../../src/app/runs/drive.ts";
import { prepareReplay } from "../../src/app/runs/replay.ts";
import { openWorkspace } from "../../src/app/workspace.ts";
import { SkillflowError } from "../../src/core/base/errors.ts";
import type { ChangedPrompt } from "../../src/core/engine/event/prompt.ts";
import { fold } from "../../src/core/engine/fold/fold.ts";
import { begin } from "../../src/core/engine/fold/state.ts";
import { describeResult } from "../../src/core/engine/result/result.ts";
import { memoryStore } from "../../src/stores/memory.ts";

/** Every shipped workflow, replayed with live tools, equals its recorded trace. */

const root = join(import.meta.dirname, "..", "..");
const home = mkdtempSync(join(tmpdir(), "skillflow-test-"));
afterAll(() => rmSync(home, { recursive: true }));

const host: Host = {
  env: { PATH: process.env.PATH, HOME: home },
  cwd: root,
  self: { pid: process.pid, host: "test", started: "" },
  isAlive: () => false,
  execPath: process.execPath,
  uid: process.geteuid?.(),
  kill: () => undefined,
};
const shipped = readdirSync(join(root, "workflows")).filter((name) => name.endsWith(".run.jsonl"));

const replays = new Map<string, ReturnType<typeof replayRecording>>();

/** The replay of a recording, which several tests look at. */
function replayOf(name: string, tools: "live" | "recorded"): ReturnType<typeof replayRecording> {
  const known = replays.get(`${name} ${tools}`) ?? replayRecording(name, tools);
  replays.set(`${name} ${tools}`, known);
  return known;
}

async function replayRecording(name: string, tools: "live" | "recorded") {
  const project = openWorkspace(host, { overrides: new Map(), skillDirs: [], discover: false, store: memoryStore() });
  const recording = openRecording(project, join("workflows", name));
  if (!recording) throw new SkillflowError("recording.invalid", `${name} is gone`);
  const prepared = await prepareReplay(project, recording, {
    runId: recording.stored.record.run,
    tools,
    connect: undefined,
  });
  const changed: ChangedPrompt[] = [];
  const quiet = () => undefined;
  const finished = await startRun(project, prepared, {
    observers: [],
    signal: new AbortController().signal,
    onPromptChanged: (change) => changed.push(change),
    loggerFor: () => ({ debug: quiet, info: quiet, warn: quiet }),
  });
  const { record, events } = recording.stored;
  return { changed, replayed: finished.result, recorded: describeResult(record, events.reduce(fold, begin(record))) };
}

describe("the shipped workflows", () => {
  it("have a recorded run", () => {
    expect(shipped).toContain("incident-triage.run.jsonl");
  });

  // The tools of a fix read the clone that it was recorded in.
  const ways = shipped.flatMap((name) => [
    [name, "recorded"] as const,
    ...(name.startsWith("incident-fix") ? [] : [[name, "live"] as const]),
  ]);

  it.each(ways)("follow the recorded path and have the same finding: %s with %s tools", async (name, tools) => {
    const { changed, replayed, recorded } = await replayOf(name, tools);
    expect(changed).toEqual([]);
    expect(replayed.status).toBe("succeeded");
    expect(replayed.trace.steps).toEqual(recorded.trace.steps);
    expect(replayed.trace.edges).toEqual(recorded.trace.edges);
    expect(replayed.results).toEqual(recorded.results);
  });

  it("name the faulty commit and its line, which the repository confirms", async () => {
    const { replayed } = await replayOf("incident-triage.run.jsonl", "live");
    const { commit, file, line } = replayed.results.investigate?.data ?? {};
    const clone = mkdtempSync(join(home, "clone-"));
    const git = (...args: string[]) => execFileSync("git", args, { cwd: clone, encoding: "utf8", stdio: "pipe" });
    git("clone", "--quiet", join(root, "workflows/incidents/checkout-5xx/checkout.bundle"), ".");
    const blame = git("blame", "--porcelain", "-L", `${line},${line}`, "v1.14.0", "--", String(file));
    expect(blame.split(" ")[0]).toBe(commit);
  });
});
