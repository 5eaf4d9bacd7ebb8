import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, vi } from "vitest";
import { oneOf } from "../harness/long.ts";
import { whyNoEngine } from "../services/engine.ts";
import { FLOW, WORKING } from "./flows.ts";
import { makeProject, programCommand, runProgram } from "./program.ts";

const it = oneOf(2);
const missing = whyNoEngine();
const EMBEDDED = ["--database-url", "embedded"];

describe.skipIf(missing !== undefined)(`the embedded database${missing ? ` (skipped: ${missing})` : ""}`, () => {
  const cwd = makeProject({ "flow.yml": FLOW, "triage.yml": FLOW, "script.json": WORKING });
  const env = { HOME: makeProject() };
  const workers: ChildProcess[] = [];
  afterAll(() => {
    for (const worker of workers) worker.kill("SIGKILL");
  });

  const folder = async () => {
    const places = join(env.HOME, ".cache/skillflow/postgres");
    return join(places, (await readdir(places))[0] ?? "");
  };
  const serverOf = async () => {
    const path = join(await folder(), "data/postmaster.pid");
    return existsSync(path) ? Number.parseInt(readFileSync(path, "utf8"), 10) : undefined;
  };
  /** The server, and the process that has to stop it. */
  const running = async () => {
    const server = await serverOf();
    const stat = readFileSync(`/proc/${server}/stat`, "utf8");
    const keeper = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    expect(readFileSync(`/proc/${keeper}/cmdline`, "utf8")).toContain("postmaster.pid");
    return { server: Number(server), keeper };
  };
  const isOver = () => vi.waitFor(async () => expect(await serverOf()).toBeUndefined(), { timeout: 20_000 });
  const startWorker = async () => {
    const { command, args, env: usual } = programCommand(["worker", ...EMBEDDED]);
    const child = spawn(command, args, { cwd, env: { ...usual, ...env } });
    workers.push(child);
    const worker = { child, said: "" };
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      worker.said += text;
    });
    await vi.waitFor(() => expect(worker.said).toMatch(/^ready/m), { timeout: 40_000 });
    return worker;
  };
  const program = (...args: readonly string[]) => runProgram([...args, ...EMBEDDED], { cwd, env });
  const listed = async () => {
    const { code, stdout, stderr } = await program("runs", "list", "--json");
    expect([code, stderr]).toEqual([0, ""]);
    return (JSON.parse(stdout).runs as { id: string; status: string }[]).map(({ id, status }) => [id, status]);
  };

  it("is set up once, shared by all processes of a project, and stops with the last of them, however that ended", async () => {
    const worker = await startWorker();
    expect(worker.said).toContain("setting up a Postgres in");
    const detached = await program("run", "flow.yml", "--model", "script:script.json", "--detach", "--run-id", "first");
    expect(detached).toMatchObject({ code: 0, stdout: "first\n", stderr: expect.not.stringContaining("setting up") });
    await vi.waitFor(() => expect(worker.said).toContain("first ✔"), { timeout: 20_000 });
    expect(await serverOf()).toBeDefined();
    worker.child.kill("SIGKILL");
    await isOver();
    expect(await listed()).toEqual([["first", "succeeded"]]);
    await isOver();
  });

  it("is shown by its page with commands that work", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/scale.md"), "utf8");
    const [block = ""] = page.split("```sh\n")[1]?.split("```") ?? [];
    for (const command of block.trim().split("\n")) {
      const { code, stderr } = await runProgram(command.split(" ").slice(1), { cwd, env });
      expect([command, code, code === 0 ? "" : stderr]).toEqual([command, 0, ""]);
    }
    await isOver();
  });

  it("is taken over by the next process if the one that has to stop it was killed", async () => {
    const worker = await startWorker();
    const { server, keeper } = await running();
    process.kill(keeper, "SIGKILL");
    worker.child.kill("SIGKILL");
    expect(await serverOf()).toBe(server);
    expect(await listed()).toContainEqual(["first", "succeeded"]);
    await isOver();
  });

  it("is reported as not answering when it was killed, and its users end on the first signal", async () => {
    const worker = await startWorker();
    process.kill((await running()).server, "SIGKILL");
    await vi.waitFor(() => expect(worker.said).toMatch(/^the database .* does not answer: waiting$/m), {
      timeout: 15_000,
    });
    const ended = new Promise((resolve) => worker.child.once("close", resolve));
    worker.child.kill("SIGTERM");
    expect(await ended).toBe(4);
    expect(worker.said.match(/waiting$/gm)).toHaveLength(1);
    expect(await listed()).toContainEqual(["first", "succeeded"]);
    await isOver();
  });

  it("starts again after a power failure, even if another process has its process id now", async () => {
    const worker = await startWorker();
    const { server } = await running();
    process.kill(server, "SIGKILL");
    worker.child.kill("SIGKILL");
    const path = join(await folder(), "data/postmaster.pid");
    writeFileSync(path, readFileSync(path, "utf8").replace(/^\d+/, String(process.pid)));
    expect(await listed()).toContainEqual(["first", "succeeded"]);
    await isOver();
  });
});
