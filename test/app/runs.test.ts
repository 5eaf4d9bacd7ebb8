import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import type { Host } from "../../src/app/host.ts";
import { resumeRun, startRun, type Watch } from "../../src/app/runs/drive.ts";
import { prepareRun } from "../../src/app/runs/prepare.ts";
import { openWorkspace } from "../../src/app/workspace.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { FLOW, SMALL, WORKING } from "../cli/flows.ts";
import { makeFolder } from "../loaders/foreign.ts";
import { sandboxHost } from "../sandbox/host.ts";

const ONE = { replies: [{ text: "said" }] };

describe("a run that cannot be executed", () => {
  const cwd = makeFolder({ "flow.yml": FLOW, "small.yml": SMALL, "script.json": WORKING, "one.json": ONE });
  const store = memoryStore();
  const self = { pid: 1, host: hostname(), started: "" };
  const hostWith = (env: Host["env"]): Host => ({ ...sandboxHost, env, cwd, self, isAlive: () => true });
  const projectWith = (env: Host["env"]) =>
    openWorkspace(hostWith(env), { overrides: new Map(), skillDirs: [], discover: false, store });
  const quiet = () => undefined;
  const watch: Watch = {
    observers: [],
    signal: new AbortController().signal,
    onPromptChanged: quiet,
    loggerFor: () => ({ debug: quiet, info: quiet, warn: quiet }),
  };

  it("is released for the next process, whatever the cause", async () => {
    const prepared = await prepareRun(projectWith({}), {
      document: "flow.yml",
      input: () => ({ service: "shop" }),
      runId: "r",
      choices: { model: "script:script.json", offline: false, requireSkills: false },
      connect: undefined,
    });
    const project = projectWith({});
    const broken = {
      ...project,
      host: {
        ...project.host,
        get env(): never {
          throw new Error("no environment");
        },
      },
    };
    await expect(startRun(broken, prepared, watch)).rejects.toThrow("no environment");
    await expect(resumeRun(broken, prepared, watch, undefined)).rejects.toThrow("no environment");
    const { journal } = await store.open("r");
    await journal.close();
  });

  it("is not resumed if it has succeeded by the time that the process has its lock", async () => {
    const project = projectWith({});
    const prepared = await prepareRun(project, {
      document: "small.yml",
      input: () => ({}),
      runId: "done",
      choices: { model: "script:one.json", offline: false, requireSkills: false },
      connect: undefined,
    });
    await startRun(project, prepared, watch);
    await expect(resumeRun(project, prepared, watch)).rejects.toMatchObject({ code: "run.finished" });
    const { journal, events } = await store.open("done");
    await journal.close();
    expect(events.filter(({ type }) => type === "workflow:end" || type === "run:resume")).toHaveLength(1);
  });
});
