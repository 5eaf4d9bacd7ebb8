import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import { fileBlobs } from "../../src/stores/blobs.ts";
import { blobsOfRun, fileStore } from "../../src/stores/file/store.ts";
import { FLOW, WORKING } from "../cli/flows.ts";
import { runInside } from "../cli/inside.ts";
import { makeProject, runProgram } from "../cli/program.ts";
import { codeOf } from "../contracts/store.ts";
import { recordOf } from "../contracts/triage.ts";
import { oneOf } from "../harness/long.ts";

const it = oneOf(5);

/** A checkout, or code that ran, replaces our files with links and other files. */

const SECRET = "secret-of-this-machine";

describe("a blob", () => {
  const kept = async () => {
    const folder = join(makeProject({ secret: SECRET }), "r.blobs");
    const { blob_id } = await fileBlobs(folder).create(Buffer.from("as it was kept"), "text/plain");
    const file = join(folder, blob_id.slice("blob:".length));
    return { folder, blob_id, file, outside: join(folder, "..", "secret") };
  };

  it.each<[string, (parts: { file: string; outside: string }) => void]>([
    ["replaced by a link to a file of this machine", ({ file, outside }) => relink(file, outside)],
    ["replaced by a link to a file of the same length", ({ file }) => relink(file, twin(file, "as it was kepT"))],
    ["replaced by a link to the very same content", ({ file }) => relink(file, twin(file, "as it was kept"))],
    ["changed", ({ file }) => writeFileSync(file, "as it was kepT")],
    ["made longer", ({ file }) => appendFileSync(file, "!")],
    ["said to be of another kind", ({ file }) => writeFileSync(`${file}.json`, description("image/png"))],
    ["said to be longer", ({ file }) => writeFileSync(`${file}.json`, description("text/plain", 10_000))],
    ["replaced by a folder", ({ file }) => [rmSync(file), mkdirSync(file)]],
    ["replaced by a named pipe", ({ file }) => [rmSync(file), spawnSync("mkfifo", [file])]],
    ["whose description is a link", ({ file }) => relink(`${file}.json`, twin(file, description("text/plain")))],
    ["whose description is no JSON", ({ file }) => writeFileSync(`${file}.json`, "{")],
  ])("%s is not read, before its first reading and after", async (_what, change) => {
    const { folder, blob_id, ...parts } = await kept();
    const before = fileBlobs(folder);
    expect(Buffer.from(await before.read(blob_id, 0, 100)).toString()).toBe("as it was kept");
    change(parts);
    for (const blobs of [before, fileBlobs(folder)]) {
      await expect(blobs.read(blob_id, 0, 100)).rejects.toMatchObject({ code: "blob.unknown" });
      await expect(blobs.file(blob_id)).rejects.toMatchObject({ code: "blob.unknown" });
    }
  });

  it("that came with a checkout as a link is not read, whatever its description contains", async () => {
    const folder = join(makeProject({ secret: SECRET }), "r.blobs");
    const id = "0123456789abcdef".repeat(2);
    mkdirSync(folder);
    symlinkSync("../secret", join(folder, id));
    writeFileSync(join(folder, `${id}.json`), description("text/plain", SECRET.length));
    await expect(fileBlobs(folder).read(`blob:${id}`, 0, 100)).rejects.toMatchObject({ code: "blob.unknown" });
  });

  it("is written again if a link replaced it, without following the link", async () => {
    const { folder, blob_id, file, outside } = await kept();
    relink(file, outside);
    const blobs = fileBlobs(folder);
    await blobs.create(Buffer.from("as it was kept"), "text/plain");
    expect(Buffer.from(await blobs.read(blob_id, 0, 100)).toString()).toBe("as it was kept");
    expect([lstatSync(file).isFile(), readFileSync(outside, "utf8")]).toEqual([true, SECRET]);
  });

  it("is not written elsewhere if its folder is a link", async () => {
    const [project, elsewhere] = [makeProject(), makeProject()];
    symlinkSync(elsewhere, join(project, "r.blobs"));
    const kept = fileBlobs(join(project, "r.blobs")).create(Buffer.from("text"), "text/plain");
    await expect(kept).rejects.toMatchObject({ code: "blob.refused" });
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  const relink = (file: string, to: string) => {
    rmSync(file);
    symlinkSync(to, file);
  };
  const twin = (file: string, text: string) => {
    const path = join(file, "..", "..", "twin");
    writeFileSync(path, text);
    return path;
  };
  const description = (kind: string, size_bytes = 14) => JSON.stringify({ kind, size_bytes });
});

describe("the folder of runs", () => {
  const self = { pid: 1, host: "here", started: "" };
  const storeAt = (directory: string, root?: string) => fileStore({ directory, root, self, isAlive: () => true });
  const runIn = async (directory: string) => {
    await (await storeAt(directory).create(recordOf("r"))).close();
    mkdirSync(blobsOfRun(directory, "r"));
  };

  it.each(["runs", ".skillflow"])("is not followed out of the project if %s is a link", async (link) => {
    const [project, elsewhere] = [makeProject(), makeProject()];
    const directory = join(project, ".skillflow", "runs");
    if (link === "runs") mkdirSync(join(project, ".skillflow"));
    symlinkSync(elsewhere, link === "runs" ? directory : join(project, ".skillflow"));
    const there = link === "runs" ? elsewhere : join(elsewhere, "runs");
    await runIn(there);
    const before = readdirSync(there);
    const store = storeAt(directory, project);
    for (const work of [store.list(), store.read("r"), store.open("r"), store.remove("r"), store.create(recordOf("s"))])
      expect(await codeOf(work)).toBe("store.failed");
    expect(readdirSync(there)).toEqual(before);
    expect(await storeAt(directory).list(), "if the operator names it").toEqual(["r"]);
  });

  it("does not let prune delete files that are not runs", async () => {
    const directory = makeProject({ "notes.jsonl": '{"note": 1}\n', "empty.jsonl": "", "text.jsonl": "no json" });
    const outside = makeProject();
    await runIn(outside);
    symlinkSync(join(outside, "r.jsonl"), join(directory, "linked.jsonl"));
    symlinkSync(outside, join(directory, "notes.blobs"));
    const store = storeAt(directory);
    for (const run of ["notes", "empty", "text", "linked"])
      expect(await codeOf(store.remove(run))).toBe("recording.invalid");
    expect(readdirSync(directory).sort()).toEqual([
      "empty.jsonl",
      "linked.jsonl",
      "notes.blobs",
      "notes.jsonl",
      "text.jsonl",
    ]);
  });

  it("removes a link that replaced a run's blobs, and not its target", async () => {
    const [directory, outside] = [makeProject(), makeProject({ file: SECRET })];
    await runIn(directory);
    rmSync(blobsOfRun(directory, "r"), { recursive: true });
    symlinkSync(outside, blobsOfRun(directory, "r"));
    await storeAt(directory).remove("r");
    expect([existsSync(join(directory, "r.blobs")), readdirSync(outside)]).toEqual([false, ["file"]]);
  });

  it("does not start a run whose file is a link", async () => {
    const [directory, outside] = [makeProject(), makeProject()];
    await runIn(outside);
    const text = readFileSync(join(outside, "r.jsonl"), "utf8");
    symlinkSync(join(outside, "r.jsonl"), join(directory, "r.jsonl"));
    expect(await codeOf(storeAt(directory).open("r"))).toBe("store.failed");
    expect(await codeOf(storeAt(directory).read("r"))).toBe("store.failed");
    expect(readFileSync(join(outside, "r.jsonl"), "utf8")).toBe(text);
    expect(readdirSync(directory)).toEqual(["r.jsonl"]);
  });

  it("does not follow a link that replaces its ignore file", async () => {
    const [directory, outside] = [makeProject(), makeProject()];
    symlinkSync(join(outside, "made"), join(directory, ".gitignore"));
    await runIn(directory);
    expect(readdirSync(outside)).toEqual([]);
  });
});

describe("outputs of a run", () => {
  const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r"];
  const project = () => makeProject({ "flow.yml": FLOW, "script.json": WORKING, home: SECRET, ".git/HEAD": "" });

  it("replace links at their paths, and are readable by the operator alone", async () => {
    const [cwd, outside] = [project(), makeProject({ profile: SECRET })];
    mkdirSync(join(cwd, "out"));
    for (const name of ["summary.md", "result.json", "trace.jsonl"])
      symlinkSync(join(outside, "profile"), join(cwd, "out", name));
    symlinkSync(join(outside, "profile"), join(cwd, "report.md"));
    const ended = await runProgram([...RUN, "--out", "out", "--report", "md=report.md"], { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    expect(readFileSync(join(outside, "profile"), "utf8")).toBe(SECRET);
    const written = ["out/summary.md", "out/result.json", "out/trace.jsonl", "out/report.html", "report.md"];
    for (const path of [...written, ".skillflow/runs/r.jsonl", ".skillflow/runs/.gitignore"]) {
      const stats = lstatSync(join(cwd, path));
      expect([path, stats.isFile(), stats.mode & 0o777]).toEqual([path, true, 0o600]);
    }
    for (const path of [".skillflow", ".skillflow/runs"]) expect(lstatSync(join(cwd, path)).mode & 0o777).toBe(0o700);
  });

  it("end with exit code 4 if their folder is a link out of the project, and nothing is created there", async () => {
    const [cwd, outside] = [project(), makeProject()];
    symlinkSync(outside, join(cwd, "out"));
    const ended = await runInside([...RUN, "--out", "out/deeper"], { cwd });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("a link that leads out of");
    expect(readdirSync(outside)).toEqual([]);
  });

  it("are written to a device, which remains a device", async () => {
    const cwd = project();
    const through = ["sh", "-c", 'exec "$@" >printed', "sh"];
    const ended = await runProgram([...RUN, "--quiet", "--report", "json=/dev/stdout"], { cwd, through });
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(readFileSync(join(cwd, "printed"), "utf8"))).toMatchObject({ run: "r", status: "succeeded" });
    expect(lstatSync("/dev/stdout").isSymbolicLink()).toBe(true);
  });
});

it("are left alone by prune behind a link of the checkout, and it reports that", async () => {
  const [cwd, elsewhere] = [makeProject({ "flow.yml": FLOW, "script.json": WORKING }), makeProject()];
  mkdirSync(join(cwd, ".skillflow"));
  symlinkSync(elsewhere, join(cwd, ".skillflow", "runs"));
  writeFileSync(join(elsewhere, "r.jsonl"), `${JSON.stringify(recordOf("r"))}\n`);
  const ended = await runInside(["runs", "prune", "--keep", "0"], { cwd });
  expect(ended).toMatchObject({ code: 4, stdout: "" });
  expect(ended.stderr).toContain("a link that leads out of");
  expect(readdirSync(elsewhere)).toEqual(["r.jsonl"]);
});

describe("a pipe or a device instead of a file", () => {
  const SCRIPT = ["--model", "script:script.json"];
  const through = ["timeout", "-s", "KILL", "50"];

  it.each<[place: string, argv: readonly string[], code: number]>([
    ["flow.yml", ["validate", "flow.yml"], 2],
    ["alert.json", ["run", "flow.yml", ...SCRIPT, "--input", "@alert.json"], 2],
    ["values", ["run", "flow.yml", ...SCRIPT, "--env-from", "values"], 2],
    ["r.jsonl", ["run", "flow.yml", "--model", "replay:r.jsonl"], 4],
    ["r.jsonl", ["replay", "r.jsonl"], 4],
    ["listen.yml", ["listen"], 2],
    ["api.json", ["skills", "new", "pager", "--from", "openapi", "api.json"], 2],
    [".git/config", ["init"], 0],
    ["other.yml", ["mcp", "."], 0],
    [".skillflow/skills/a/skill.ts", ["skills", "list"], 0],
    [".skillflow/skills/a/SKILL.md", ["skills", "list"], 0],
    [".npmrc", ["run", "flow.yml", ...SCRIPT], 0],
  ])("%s does not block: %s", async (place, argv, code) => {
    for (const put of [
      (file: string) => spawnSync("mkfifo", [file]),
      (file: string) => symlinkSync("/dev/zero", file),
    ]) {
      const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
      const file = join(cwd, place);
      mkdirSync(dirname(file), { recursive: true });
      rmSync(file, { force: true });
      put(file);
      expect(await runProgram(argv, { cwd, through })).toMatchObject({ code, signal: null });
    }
  });

  it("is read if the shell passes it", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
    const shell = ["bash", "-c", 'exec "$@" --input @<(echo "{\\"service\\": \\"checkout\\"}")', "bash"];
    const run = ["run", "flow.yml", ...SCRIPT, "--run-id", "r"];
    expect(await runProgram(run, { cwd, through: shell })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, ".skillflow/runs/r.jsonl"), "utf8")).toContain('"service":"checkout"');
  });
});
