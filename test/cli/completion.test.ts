import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { SOURCES } from "../../src/cli/completion/values.ts";
import { COMMANDS } from "../../src/cli/table/commands.ts";
import type { CommandSpec } from "../../src/cli/table/options.ts";
import { optionsOf } from "../../src/cli/table/options.ts";
import { oneOf, spreadOf } from "../harness/long.ts";
import { FLOW, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { installation, makeProject } from "./program.ts";
import { hasTerminal } from "./pseudo-terminal.ts";

const it = oneOf(4);

const SKILL = "---\nname: my-way\ndescription: My way\n---\nDo it.";
const files = {
  "flow.yml": FLOW,
  "sub/other.yaml": FLOW,
  "notes.txt": "x",
  "script.json": WORKING,
  "skills/my-way/SKILL.md": SKILL,
};

async function project(more: Readonly<Record<string, string>> = {}): Promise<string> {
  const cwd = makeProject({ ...files, ...more });
  for (const id of ["first-run", "second-run"]) {
    await runHere(["run", "flow.yml", "--model", "script:script.json", "--run-id", id], { cwd });
  }
  return cwd;
}

/** The candidates for the last of these words, which need not be whole. */
async function complete(words: readonly string[], cwd: string): Promise<string[]> {
  const index = String(words.length);
  const { code, stdout, stderr } = await runHere(["completion", "--words", index, "--", "skillflow", ...words], {
    cwd,
  });
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

const NAMES_OF_RUNS = (COMMANDS.find(({ usage }) => usage === "runs")?.commands ?? []).map(
  ({ usage }) => usage.split(" ")[0] ?? "",
);

describe("the candidates at the cursor", () => {
  it("are all commands, each with its summary", async () => {
    const { stdout } = await runHere(["completion", "--words", "1", "--", "skillflow", ""], { cwd: makeProject() });
    const told = COMMANDS.map(({ usage, summary }) => `${usage.split(" ")[0]}\t${summary}`);
    expect(stdout.trimEnd().split("\n")).toEqual(told);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ["commands that begin so", ["va"], ["validate"]],
    ["commands of a command", ["runs", ""], NAMES_OF_RUNS],
    ["flags of the command", ["runs", "verify", "--di"], ["--digest"]],
    ["no flag twice", ["runs", "list", "--json", "--j"], []],
    ["a flag that may be repeated", ["run", "--set", "a=b", "--se"], ["--set"]],
    ["values that a flag takes", ["run", "--writes", ""], ["allow", "plan", "deny"]],
    ["values behind an equals sign", ["run", "--writes=p"], ["--writes=plan"]],
    ["providers of models", ["run", "--model", "open"], ["openai:", "openai-compatible:"]],
    [
      "files behind a provider",
      ["run", "--model", "script:s"],
      ["script:sub/", "script:script.json", "script:skills/"],
    ],
    ["workflows and folders", ["run", ""], ["flow.yml", "script.json", "skills/", "sub/"]],
    ["files of a folder", ["validate", "flow.yml", "sub/"], ["sub/other.yaml"]],
    ["runs", ["runs", "show", ""], ["latest", "first-run", "second-run"]],
    ["the second run of two", ["runs", "diff", "first-run", "se"], ["second-run"]],
    ["nodes of the run", ["runs", "show", "first-run", ""], ["look", "post"]],
    ["nodes to resume from", ["resume", "first-run", "--from", "p"], ["post"]],
    ["skills", ["skills", "show", "my"], ["my-way"]],
    ["skills to trust", ["run", "flow.yml", "--trust-skill", "git"], ["git", "github", "gitlab"]],
    ["kinds of reports", ["run", "--report", "ht"], ["html="]],
    ["schemas", ["schema", "ev"], ["event"]],
    ["tests of workflows", ["test", "s"], ["sub/", "skills/"]],
    ["codes to explain", ["validate", "--explain", "SELF"], ["SELF_LOOP"]],
    ["a flag whose value may be left out", ["validate", "--expl"], ["--explain"]],
    ["flags behind such a flag", ["validate", "--explain", "--js"], ["--json"]],
    ["shells", ["completion", ""], ["bash", "zsh", "fish"]],
    ["input files", ["run", "--input", "@scr"], ["@script.json"]],
    ["words without their quotes", ["runs", "show", "'first-run'", "lo"], ["look"]],
    ["arguments alone behind two dashes", ["run", "--", "fl"], ["flow.yml"]],
    ["nothing where nothing is asked for", ["runs", "list", ""], []],
    ["nothing of an unknown command", ["frobnicate", ""], []],
    ["nothing of an unknown run", ["runs", "show", "no-such-run", ""], []],
  ])("are %s", async (_, words, expected) => {
    expect((await complete(words, await shared())).sort()).toEqual([...expected].sort());
  });

  let made: Promise<string> | undefined;
  const shared = () => {
    made ??= project();
    return made;
  };

  it("are known for every placeholder of the help, unless nothing can be known", () => {
    const FREE =
      "key=value id usd n ref ops duration digest op=outcome text url number address word name question".split(" ");
    const placeholders = (specs: readonly CommandSpec[], path: readonly string[]): string[] =>
      specs.flatMap((spec) => {
        const { usage, commands = [] } = spec;
        const [name = ""] = usage.split(" ");
        const args = [...usage.matchAll(/[<[]([^>\]]+?)(?:\.\.\.)?[>\]]/g)].map(([, arg]) =>
          [...path, name, arg].join(" "),
        );
        const values = optionsOf(spec).flatMap(([flags, , extra]) => {
          const [, flag = "", value = ""] = /^(?:-\w, )?(\S+) [<[](.+)[>\]]$/.exec(flags) ?? [];
          return value === "" || extra?.choices ? [] : [`${flag} ${value}`];
        });
        return [...args, ...values, ...placeholders(commands, [...path, name])];
      });
    const all = placeholders(COMMANDS, []);
    expect(all.length).toBeGreaterThan(40);
    const unknown = all.filter((each) => {
      const last = each.split(" ").at(-1) ?? "";
      return !(each in SOURCES || last in SOURCES || FREE.includes(last));
    });
    expect(unknown).toEqual([]);
  });

  it("come from the store that the command line names", async () => {
    const cwd = makeProject(files);
    const flags = ["--store", "kept", "--run-id", "elsewhere"];
    await runHere(["run", "flow.yml", "--model", "script:script.json", ...flags], { cwd });
    expect(await complete(["runs", "show", "--store", "kept", "e"], cwd)).toEqual(["elsewhere"]);
  });

  it("contain no name that a command line or a terminal would misinterpret", async () => {
    const cwd = makeProject({ "a\nb.yml": "", "a\u001b[2J.yml": "", "a\tb.yml": "", "ab.yml": "" });
    expect(await complete(["run", "a"], cwd)).toEqual(["ab.yml"]);
  });

  it("cause no error if nothing can be read", async () => {
    const cwd = makeProject({ ".skillflow": "a file in place of the folder" });
    expect(await complete(["runs", "show", "x"], cwd)).toEqual([]);
  });
});

describe("the scripts", () => {
  it("exist only for the supported shells", async () => {
    const { code, stderr } = await runHere(["completion", "bsh"], { cwd: makeProject() });
    expect([code, stderr]).toEqual([2, expect.stringContaining("did you mean bash?")]);
  });

  it.each(["bash", "zsh", "fish"])("evaluate nothing, and call the program of the PATH: %s", async (shell) => {
    const { stdout } = await runHere(["completion", shell], { cwd: makeProject() });
    expect(stdout).toContain("command skillflow completion --words");
    expect(stdout).not.toMatch(/\beval\b|-W|compgen/);
  });

  it.each(["zsh", "fish"])("are valid for %s, if it is installed", async (shell) => {
    const { stdout } = await runHere(["completion", shell], { cwd: makeProject() });
    const { error, status, stderr } = spawnSync(shell, ["-n"], { input: stdout, encoding: "utf8" });
    expect(error ? (error as NodeJS.ErrnoException).code : [status, stderr]).toEqual(error ? "ENOENT" : [0, ""]);
  });
});

/** `skillflow` on a separate PATH. */
function onPath(cwd: string): string {
  const bin = join(cwd, "bin-of-the-test");
  mkdirSync(bin);
  writeFileSync(join(bin, "skillflow"), `#!/bin/sh\nexec "${process.execPath}" "${installation().bin}" "$@"\n`);
  chmodSync(join(bin, "skillflow"), 0o755);
  return `${bin}:${process.env.PATH}`;
}

/** Types into a separate bash, each key after the previous one was answered, and returns the resulting line. */
const TYPIST = `
import json, os, pty, sys
keys, prompt = json.loads(sys.argv[1]), b"READY> "
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = b""
def until(mark):
    global seen
    while mark not in seen:
        seen += os.read(terminal, 65536)
    before, seen = seen.split(mark, 1)
    return before
os.write(terminal, b"PS1='READY''> '; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'\\n")
until(prompt)
os.write(terminal, b"source <(skillflow completion bash)\\n")
until(prompt)
for line in keys:
    # Ctrl-A, a word and Enter: the line is printed by it and not carried out.
    os.write(terminal, line.encode() + b"\\t\\x01printf '<%s>' \\n")
    until(b"\\r\\n")
    print(json.dumps(until(prompt).decode()))
os.close(terminal)
`;

describe.skipIf(!hasTerminal)("completion in bash", () => {
  const type = (cwd: string, lines: readonly string[]) => {
    const env = { PATH: onPath(cwd), HOME: cwd, TERM: "dumb" };
    const { stdout, stderr } = spawnSync("python3", ["-c", TYPIST, JSON.stringify(lines)], {
      cwd,
      env,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => [...(JSON.parse(line) as string).matchAll(/<([^>]*)>/g)].map(([, word]) => word));
  };

  it("completes the typed word to its next words", async () => {
    const cwd = await project();
    expect(
      type(cwd, [
        "skillflow vali",
        "skillflow runs show fir",
        "skillflow run --writes=pl",
        "skillflow run --model script:scri",
        "skillflow run 'flo",
      ]),
    ).toEqual([
      ["skillflow", "validate"],
      ["skillflow", "runs", "show", "first-run"],
      ["skillflow", "run", "--writes=plan"],
      ["skillflow", "run", "--model", "script:script.json"],
      ["skillflow", "run", "flow.yml"],
    ]);
  });

  it.each(
    spreadOf(
      [
        "evil$(touch pwned).yml",
        "evil`touch pwned`.yml",
        "evil; touch pwned #.yml",
        "evil'; touch pwned; '.yml",
        'evil"; touch pwned; ".yml',
        "evil && touch pwned.yml",
        "evil ${IFS}.yml",
        "evil>pwned.yml",
      ],
      4,
    ),
  )("treats a name as one word, whatever it contains: %s", async (name) => {
    const cwd = makeProject({ [name]: FLOW });
    const [words] = type(cwd, ["skillflow run ev", 'skillflow run "ev']);
    expect(existsSync(join(cwd, "pwned"))).toBe(false);
    if (!name.includes(">")) expect(words).toEqual(["skillflow", "run", name]);
  });

  it("runs no program of the folder in which it is used", async () => {
    const cwd = makeProject({ skillflow: "#!/bin/sh\ntouch pwned\n", "skills/x/skill.ts": "throw 1" });
    chmodSync(join(cwd, "skillflow"), 0o755);
    type(cwd, ["./skillflow runs sh", "skillflow run --trust-skill x"]);
    expect(existsSync(join(cwd, "pwned"))).toBe(false);
    expect(readFileSync(join(cwd, "skillflow"), "utf8")).toContain("pwned");
  });
});
