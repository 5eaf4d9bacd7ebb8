import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect } from "vitest";
import type { StateStore } from "../../../src/core/engine/ports.ts";
import { folderState } from "../../../src/stores/state/folder.ts";
import { memoryState } from "../../../src/stores/state/memory.ts";
import { deltaOf, putOf } from "../../contracts/deltas.ts";
import { describeStates } from "../../contracts/state.ts";
import { bundled } from "../../harness/bundled.ts";
import { LONG, longer, oneOf } from "../../harness/long.ts";

const it = oneOf(2);

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "state-"));
  folders.push(folder);
  return folder;
}

let processes = 1000;
function stateIn(directory: string, isAlive: () => boolean = () => true): StateStore {
  processes += 1;
  return folderState({ directory, self: { pid: processes, host: "here", started: "" }, isAlive });
}

async function saidBy(child: ChildProcess): Promise<string[]> {
  let text = "";
  child.stdout?.on("data", (piece: Buffer) => {
    text += piece.toString();
  });
  if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  return text.split("\n").filter((line) => line !== "");
}

describeStates("states in memory", async () => {
  const store = memoryState();
  return { store, again: () => store };
});

describeStates("states in a folder", async () => {
  const directory = join(makeFolder(), "state");
  return { store: stateIn(directory), again: () => stateIn(directory) };
});

describe("a folder of states", () => {
  const fileIn = (directory: string) => join(directory, "board.jsonl");
  const keysIn = async (store: StateStore) => ((await store.read(["board"])).get("board") ?? []).map(({ key }) => key);

  it("is readable by its owner alone, and has one line per entry", async () => {
    const directory = join(makeFolder(), "state");
    await stateIn(directory).apply(deltaOf("r1", [putOf("a"), putOf("b")]));
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    const lines = readFileSync(fileIn(directory), "utf8").trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).key)).toEqual(["a", "b"]);
  });

  it("drops an incomplete last line, and writes complete ones again", async () => {
    const directory = makeFolder();
    await stateIn(directory).apply(deltaOf("r1", [putOf("a")]));
    appendFileSync(fileIn(directory), '{"key":"b","first');
    expect(await keysIn(stateIn(directory))).toEqual(["a"]);
    await stateIn(directory).apply(deltaOf("r2", [putOf("c")]));
    expect(readFileSync(fileIn(directory), "utf8").split("\n")).toHaveLength(3);
  });

  it.each(["{", "null", '{"key":"x"}', "<<<<<<< HEAD"])(
    "refuses a line %s, with its number, and does not change it",
    async (bad) => {
      const directory = makeFolder();
      await stateIn(directory).apply(deltaOf("r1", [putOf("a")]));
      appendFileSync(fileIn(directory), `${bad}\n`);
      const before = readFileSync(fileIn(directory), "utf8");
      const refused = { code: "store.failed", exitCode: 4, message: expect.stringContaining("board.jsonl:2") };
      await expect(stateIn(directory).read(["board"])).rejects.toMatchObject(refused);
      await expect(stateIn(directory).apply(deltaOf("r2", [putOf("b")]))).rejects.toMatchObject(refused);
      expect(readFileSync(fileIn(directory), "utf8")).toBe(before);
    },
  );

  it("follows no link, opens no pipe and reads no huge file", async () => {
    const directory = makeFolder();
    const secret = join(makeFolder(), "secret.jsonl");
    writeFileSync(secret, "");
    symlinkSync(secret, fileIn(directory));
    await expect(stateIn(directory).read(["board"])).rejects.toMatchObject({ code: "store.failed" });
    await expect(stateIn(directory).apply(deltaOf("r1", [putOf("a")]))).rejects.toMatchObject({ code: "store.failed" });
    expect(readFileSync(secret, "utf8")).toBe("");
    rmSync(fileIn(directory));
    spawnSync("mkfifo", [fileIn(directory)]);
    await expect(stateIn(directory).read(["board"])).rejects.toMatchObject({ code: "store.failed" });
    rmSync(fileIn(directory));
    writeFileSync(fileIn(directory), "");
    truncateSync(fileIn(directory), 5 * 1024 ** 3);
    await expect(stateIn(directory).read(["board"])).rejects.toThrow(/5120 MiB/);
  });

  it("does not leave its project through a link", async () => {
    const [root, elsewhere] = [makeFolder(), makeFolder()];
    symlinkSync(elsewhere, join(root, "state"));
    const options = { self: { pid: 1, host: "here", started: "" }, isAlive: () => true };
    const store = folderState({ directory: join(root, "state"), root, ...options });
    await expect(store.apply(deltaOf("r1", [putOf("a")]))).rejects.toMatchObject({ code: "store.failed" });
    await expect(store.read(["board"])).rejects.toMatchObject({ code: "store.failed" });
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it("takes over the lock of a dead process, and finishes its change", async () => {
    const directory = makeFolder();
    await stateIn(directory).apply(deltaOf("r1", [putOf("a")]));
    const [board, applied] = ["board", "_applied"].map((state) =>
      readFileSync(join(directory, `${state}.jsonl`), "utf8"),
    );
    await stateIn(directory).apply(deltaOf("r2", [putOf("a"), putOf("b")]));
    const later = {
      board: readFileSync(fileIn(directory), "utf8"),
      applied: readFileSync(join(directory, "_applied.jsonl"), "utf8"),
    };
    // The state of the folder if the process was killed between its two files.
    writeFileSync(join(directory, "_applied.jsonl"), applied ?? "");
    writeFileSync(
      join(directory, "_redo.json"),
      JSON.stringify({ files: { "board.jsonl": later.board, "_applied.jsonl": later.applied } }),
    );
    mkdirSync(join(directory, ".lock"));
    writeFileSync(join(directory, ".lock", "4242@here@"), "");
    const store = stateIn(directory, () => false);
    expect(await keysIn(store)).toEqual(["a", "b"]);
    await store.apply(deltaOf("r2", [putOf("a"), putOf("b")]));
    expect((await store.read(["board"])).get("board")).toMatchObject([
      { key: "a", runs: 2 },
      { key: "b", runs: 1 },
    ]);
    expect(board).not.toBe(later.board);
    expect(existsSync(join(directory, "_redo.json"))).toBe(false);
  });

  it.each(['{"files":{"../evil.jsonl":"x"}}', '{"files":{}}', "{", '{"files":{"board.jsonl":1}}'])(
    "carries out no foreign redo log %s",
    async (text) => {
      const directory = join(makeFolder(), "state");
      mkdirSync(directory);
      writeFileSync(join(directory, "_redo.json"), text);
      await expect(stateIn(directory).read(["board"])).rejects.toMatchObject({ code: "store.failed" });
      expect(existsSync(join(directory, "..", "evil.jsonl"))).toBe(false);
    },
  );
});

describe("concurrent processes at a folder of states", () => {
  it("lose nothing and apply nothing twice", async () => {
    const [program, directory] = [bundled(join(import.meta.dirname, "keeper.ts"), makeFolder()), makeFolder()];
    const names = Array.from({ length: 10 }, (_, index) => `p${index}`);
    const children = names.map((name) => spawn(process.execPath, [program, "folder", directory, name, "5"]));
    const told = (await Promise.all(children.map(saidBy))).flat();
    expect(told).toHaveLength(50);
    const entries = (await stateIn(directory).read(["board"])).get("board") ?? [];
    expect(entries.find(({ key }) => key === "shared")).toMatchObject({ runs: 50, seen: 50 });
    expect(entries).toHaveLength(51);
    expect(entries.every(({ key, runs }) => key === "shared" || runs === 1)).toBe(true);
  });

  it(
    "that are killed in the middle leave all deltas that they had reported, complete, and no partial ones",
    async () => {
      const [program, directory] = [bundled(join(import.meta.dirname, "keeper.ts"), makeFolder()), makeFolder()];
      const told = new Set<string>();
      for (let round = 0; round < (LONG ? 60 : 8); round++) {
        const child = spawn(process.execPath, [program, "folder", directory, `k${round}`, "100000"]);
        let applied = 0;
        child.stdout.on("data", (piece: Buffer) => {
          for (const id of piece.toString().split("\n")) if (id !== "") told.add(id);
          applied += 1;
          if (applied > round % 7) child.kill("SIGKILL");
        });
        await once(child, "close");
      }
      const store = stateIn(directory, () => false);
      const entries = (await store.read(["board"])).get("board") ?? [];
      const own = entries.filter(({ key }) => key !== "shared");
      for (const id of told) expect(own.some(({ key }) => key === id)).toBe(true);
      expect(own.every(({ runs }) => runs === 1)).toBe(true);
      expect(entries.find(({ key }) => key === "shared")?.runs).toBe(own.length);
      await store.forget("board", "all");
      expect(readdirSync(directory).filter((name) => /^\.[0-9a-f-]{36}$/.test(name))).toEqual([]);
    },
    longer(60_000),
  );
});
