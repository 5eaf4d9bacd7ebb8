import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openExecution } from "../../../src/app/calls/execute.ts";
import { HELD_SCRIPTS, skillStates } from "../../../src/app/skills/states.ts";
import { openWorkspace } from "../../../src/app/workspace.ts";
import type { JsonObject } from "../../../src/core/base/values.ts";
import type { LoaderHost } from "../../../src/loaders/folder/host.ts";
import { openCatalog } from "../../../src/protocol/skills-protocol/catalog.ts";
import { answerRpc } from "../../../src/protocol/skills-protocol/json-rpc.ts";
import { skillsProtocol } from "../../../src/protocol/skills-protocol/methods.ts";
import { firstThatWorks } from "../../../src/sandbox/choose.ts";
import { memoryBlobs } from "../../../src/stores/blobs.ts";
import { reaches } from "../../cli/in-process.ts";
import { makeFolder } from "../../loaders/foreign.ts";
import { sandboxHost } from "../../sandbox/host.ts";
import { runsPython } from "../../sandbox/python.ts";
import { stdioServer } from "../../services/mcp.ts";
import { COUNT, packageFiles } from "../packages.ts";

/** The methods without a transport: in a separate project, with blobs in memory. */

const NOTES = "---\nname: notes\ndescription: How to take notes.\n---\nTake notes.\n";
const TALLY = "---\nname: tally\ndescription: Adds and negates.\n---\nAdd.\n";
const TOOLS = ["add", "negate"].map((name) => {
  return { name, description: `To ${name}`, script: `scripts/${name}.mjs`, parameters: {} };
});

const starts = join(makeFolder(), "starts");
const SERVER = stdioServer({ start: (_, io) => io.note("start") }, starts);
const LOOKER = `---\nname: looker\ndescription: Looks.\nmcp: ${JSON.stringify(SERVER)}\n---\nLook.\n`;

const FILES = {
  ".skillflow.yml": "skills: { disabled: [off.limits] }\n",
  ...COUNT,
  ...packageFiles({ name: "acme.text", version: "0.9.0" }),
  ...packageFiles({ name: "acme.text", version: "0.10.0" }),
  ...packageFiles({ name: "acme.textual" }),
  ...packageFiles({ name: "acme.how", kind: "instruction" }),
  ...packageFiles({ name: "sales.sync", more: 'namespace = "crm.leads"\n[permissions]\nsecrets = ["SYNC_TOKEN"]\n' }),
  ...packageFiles({ name: "stranger.act" }),
  ...packageFiles({ name: "faulty.act", more: 'namespace = "No Name"\n' }),
  ...packageFiles({ name: "off.limits" }),
  ...packageFiles({ name: "skills.protocol.guide", version: "9.9.9", kind: "instruction" }),
  "skills/notes/SKILL.md": NOTES,
  "skills/notes/references/more.md": "# More",
  "skills/looker/SKILL.md": LOOKER,
  "skills/tally/SKILL.md": TALLY,
  "skills/tally/tools.json": TOOLS,
  "skills/py-tally/SKILL.md": "---\nname: py-tally\ndescription: Adds.\n---\nAdd.\n",
  "skills/py-tally/tools.json": JSON.stringify([{ name: "add_all", description: "Adds.", script: "scripts/add.py" }]),
  "skills/py-tally/scripts/add.py": "def handler(args):\n    return sum(args['numbers'])\n",
  "skills/tally/scripts/add.mjs": "export default async ({ a = 0, b = 0 }) => ({ sum: a + b });\n",
  "skills/tally/scripts/negate.mjs": "export default async () => { throw new Error('no luck'); };\n",
};

const directory = makeFolder(FILES);
writeFileSync(join(directory, "skills/notes/data.bin"), Buffer.from([0xff, 0xfe, 0]));
writeFileSync(join(directory, "skills/notes/large.md"), "x".repeat(1024 * 1024 + 1));
symlinkSync("/etc/passwd", join(directory, "skills/notes/passwd"));
const { signal } = new AbortController();

function openHere() {
  return openWorkspace(
    {
      ...sandboxHost,
      env: { PATH: process.env.PATH },
      cwd: directory,
      self: { pid: process.pid, host: "test", started: "" },
      isAlive: ({ pid }) => reaches(pid, 0),
    },
    {
      overrides: new Map(),
      skillDirs: [join(directory, "skills")],
      discover: false,
      store: undefined,
      skillFlags: {
        trustSkill: ["acme.text.count", "acme.text", "sales.sync", "faulty.act", "off.limits", "looker", "py-tally"],
      },
    },
  );
}

async function openMethods(blobs = memoryBlobs(), host: Partial<LoaderHost> = {}) {
  const opened = openHere();
  const project = { ...opened, skills: { ...opened.skills, host: { ...opened.skills.host, ...host } } };
  const execution = openExecution(project, blobs);
  return skillsProtocol({ catalog: await openCatalog(project), blobs, execution });
}

const faults: unknown[] = [];
const optionsOf = (methods: Awaited<ReturnType<typeof openMethods>>) => {
  return { methods, mostCalls: 10, onFault: (error: unknown) => faults.push(error) };
};
const options = optionsOf(await openMethods());

type Answer = {
  readonly result: JsonObject;
  readonly error: { readonly code: number; readonly message: string; readonly data: { readonly type: string } };
};

async function ask(method: string, params: object = {}, of = options): Promise<Answer> {
  const answer = await answerRpc(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), of, signal);
  return answer as Answer;
}

type Page = {
  readonly skills: readonly { readonly name: string; readonly version: string }[];
  readonly next_cursor: string | null;
};

async function page(params: object): Promise<Page> {
  return (await ask("list_skills", params)).result as Page;
}

const namesOf = ({ skills }: Page) => skills.map(({ name }) => name);

describe("list_skills", () => {
  it("returns names and versions in the order of the names, the latest version of each", async () => {
    const all = await page({});
    const own = namesOf(all).filter((name) => /[.]|looker|notes|^tally/.test(name));
    expect(own).toEqual([
      ...["acme.how", "acme.text", "acme.text.count", "acme.textual", "faulty.act", "looker", "notes"],
      ...["off.limits", "sales.sync", "skills.protocol.guide", "stranger.act", "tally"],
    ]);
    expect(namesOf(all)).toEqual(namesOf(all).toSorted((a, b) => (a < b ? -1 : 1)));
    expect(all.skills).toContainEqual({ name: "acme.text", version: "0.10.0" });
    expect(all.skills).toContainEqual({ name: "notes", version: "0.0.0" });
    expect(all.next_cursor).toBeNull();
  });

  it.each<[string, readonly string[]]>([
    ["acme", ["acme.how", "acme.text", "acme.text.count", "acme.textual"]],
    ["acme.text", ["acme.text", "acme.text.count"]],
    ["acme.tex", []],
    ["acme.", []],
    ["crm", ["sales.sync"]],
    ["crm.leads", ["sales.sync"]],
    ["sales", []],
    ["notes", ["notes"]],
    ["", []],
    ["nobody", []],
  ])("of the namespace %j matches complete segments only", async (namespace, expected) => {
    expect(namesOf(await page({ namespace }))).toEqual(expected);
  });

  it("returns more with detail summary", async () => {
    expect((await page({ namespace: "crm", detail: "summary" })).skills).toEqual([
      {
        name: "sales.sync",
        version: "1.0.0",
        description: "Does sales.sync.",
        namespace: "crm.leads",
        kind: "action",
        available: false,
        reason: "SYNC_TOKEN is not set",
      },
    ]);
  });

  it("gives the same reasons for unavailable skills as the project", async () => {
    const { skills } = await page({ detail: "summary", limit: 1000 });
    const told = (await skillStates(openHere())).filter(({ reason }) => reason !== null && reason !== HELD_SCRIPTS);
    const kept = skills.filter((skill) => "available" in skill);
    expect(kept).toEqual(told.map(({ id, reason }) => expect.objectContaining({ name: id, reason })));
    expect(kept.length).toBeGreaterThan(3);
  });

  it("lists a disabled skill, and marks it as disabled", async () => {
    const { skills } = await page({ namespace: "off", detail: "summary" });
    expect(skills).toMatchObject([{ name: "off.limits", available: false, reason: "disabled in .skillflow.yml" }]);
    expect((await described({ name: "off.limits" })).skill.manifest).toMatchObject({ available: false });
  });

  it("returns every skill once over pages of any size, whatever detail each page requests", async () => {
    const all = namesOf(await page({}));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 30 }), fc.array(fc.boolean()), async (limit, details) => {
        const seen: string[] = [];
        let cursor: string | null | undefined;
        for (let turn = 0; cursor !== null; turn++) {
          expect(turn).toBeLessThanOrEqual(all.length);
          const detail = details[turn] ? "summary" : "names";
          const got: Page = await page({ limit, detail, ...(cursor === undefined ? {} : { cursor }) });
          expect(got.skills.length).toBeLessThanOrEqual(limit);
          seen.push(...namesOf(got));
          cursor = got.next_cursor;
        }
        expect(seen).toEqual(all);
      }),
      { numRuns: 30 },
    );
  });

  it("continues in another namespace after the same name, and ends", async () => {
    const first = await page({ limit: 2 });
    const cursor = first.next_cursor;
    expect(namesOf(await page({ namespace: "acme", cursor }))).toEqual(
      ["acme.how", "acme.text", "acme.text.count", "acme.textual"].filter((name) => name > (namesOf(first)[1] ?? "")),
    );
    expect(await page({ namespace: "acme", cursor: Buffer.from("after:zzz").toString("base64url") })).toEqual({
      skills: [],
      next_cursor: null,
    });
  });
});

type Described = {
  readonly skill: { readonly manifest: JsonObject; readonly frontmatter?: JsonObject; readonly document?: string };
};

const described = async (params: object) => (await ask("describe_skill", params)).result as Described;

describe("describe_skill", () => {
  it("returns the manifest, then the frontmatter, then the document and the files", async () => {
    const manifest = await described({ name: "acme.text.count", detail: "manifest" });
    expect(Object.keys(manifest.skill)).toEqual(["manifest"]);
    expect(manifest.skill.manifest).toMatchObject({
      name: "acme.text.count",
      version: "1.0.0",
      kind: "action",
      namespace: "acme",
      format: "skills-protocol",
      available: true,
      runtime: { language: "python", entrypoint: "code/main.py", export: "main" },
      input_schema: { type: "object", required: ["text"] },
    });
    const summary = await described({ name: "acme.text.count" });
    expect(summary.skill).toEqual({
      ...manifest.skill,
      frontmatter: { name: "The acme.text.count", short_description: "Does it.", tags: ["a"] },
    });
    const full = await described({ name: "notes", detail: "full" });
    expect(full.skill).toMatchObject({
      document: "Take notes.",
      files: ["data.bin", "large.md", "references/more.md"],
    });
  });

  it("describes the highest version by default, and another one exactly", async () => {
    expect((await described({ name: "acme.text" })).skill.manifest.version).toBe("0.10.0");
    expect((await described({ name: "acme.text", version: "0.9.0" })).skill.manifest.version).toBe("0.9.0");
  });

  it("gives the reason why a skill cannot run, and lists it all the same", async () => {
    expect((await described({ name: "stranger.act" })).skill.manifest).toMatchObject({
      available: false,
      reason: expect.stringContaining("--trust-skill stranger.act"),
    });
    expect((await described({ name: "faulty.act" })).skill.manifest).toMatchObject({
      available: false,
      reason: expect.stringContaining("namespace"),
    });
  });

  it("lists the tools of a skill that has several under the names that execute them", async () => {
    const trusted = await described({ name: "logs" });
    const tools = trusted.skill.manifest.tools as JsonObject[];
    expect(tools.length).toBeGreaterThan(1);
    expect(tools[0]).toMatchObject({ name: expect.stringMatching(/^logs\./), effect: "read" });
  });
});

describe("read_skill_file", () => {
  it("reads any file of a version's folder", async () => {
    const file = { name: "acme.text", version: "0.9.0", path: "code/main.py" };
    expect((await ask("read_skill_file", file)).result).toEqual({
      ...file,
      content: 'def main(args):\n    return "0.9.0"\n',
    });
    expect((await ask("read_skill_file", { name: "notes", path: "./references/more.md" })).result.content).toBe(
      "# More",
    );
  });

  it.each([
    "gone.md",
    "references",
    "",
    ".",
    "../tally/SKILL.md",
    "references/../../tally/SKILL.md",
    "/etc/passwd",
    "passwd",
    "data.bin",
    "a\0b",
    "references\\more.md",
  ])("refuses %j", async (path) => {
    expect((await ask("read_skill_file", { name: "notes", path })).error).toMatchObject({
      code: -32004,
      data: { type: "FileNotFound" },
    });
  });

  it("refuses a file that is too large", async () => {
    expect((await ask("read_skill_file", { name: "notes", path: "large.md" })).error.code).toBe(-32006);
  });

  it("reads the requested folder and not one whose name starts the same", async () => {
    const path = "../acme.textual-1.0.0/SKILL.md";
    expect((await ask("read_skill_file", { name: "acme.text", path })).error.code).toBe(-32004);
  });
});

describe("a wrong request", () => {
  it.each<[string, object, number, string]>([
    ["list_skills", { detail: "all" }, -32602, "InvalidParams"],
    ["list_skills", { limit: 0 }, -32602, "InvalidParams"],
    ["list_skills", { limit: 1.5 }, -32602, "InvalidParams"],
    ["list_skills", { limit: "5" }, -32602, "InvalidParams"],
    ["list_skills", { namespace: 5 }, -32602, "InvalidParams"],
    ["list_skills", { cursor: "made up" }, -32602, "InvalidParams"],
    ["list_skills", { cursor: null }, -32602, "InvalidParams"],
    ["describe_skill", {}, -32602, "InvalidParams"],
    ["describe_skill", { name: 1 }, -32602, "InvalidParams"],
    ["describe_skill", { name: "notes", detail: "names" }, -32602, "InvalidParams"],
    ["describe_skill", { name: "nobody" }, -32001, "SkillNotFound"],
    ["describe_skill", { name: "nobody", detail: "names" }, -32602, "InvalidParams"],
    ["describe_skill", { name: "toString" }, -32001, "SkillNotFound"],
    ["describe_skill", { name: "acme.text", version: "0.11.0" }, -32002, "VersionNotFound"],
    ["describe_skill", { name: "acme.text", version: "^0.9.0" }, -32002, "VersionNotFound"],
    ["describe_skill", { name: "acme.text", version: "0.9" }, -32002, "VersionNotFound"],
    ["describe_skill", { name: "notes", version: "1.0.0" }, -32002, "VersionNotFound"],
    ["read_skill_file", { name: "notes" }, -32602, "InvalidParams"],
    ["read_skill_file", { name: "nobody" }, -32602, "InvalidParams"],
    ["read_skill_file", { name: "nobody", path: "SKILL.md" }, -32001, "SkillNotFound"],
    ["execute_skill", {}, -32602, "InvalidParams"],
    ["execute_skill", { name: "nobody" }, -32001, "SkillNotFound"],
    ["execute_skill", { name: "logs.nothing" }, -32001, "SkillNotFound"],
    ["execute_skill", { name: "acme.text", version: "9.9.9" }, -32002, "VersionNotFound"],
    ["execute_skill", { name: "acme.text", args: [1] }, -32602, "InvalidParams"],
    ["execute_skill", { name: "acme.text", timeout_ms: -1 }, -32602, "InvalidParams"],
    ["execute_skill", { name: "acme.text", input_blobs: "blob:x" }, -32602, "InvalidParams"],
    ["execute_skill", { name: "acme.text", input_blobs: [`blob:${"0".repeat(32)}`] }, -32003, "BlobNotFound"],
    ["execute_skill", { name: "nobody", args: [1] }, -32602, "InvalidParams"],
    ["execute_skill", { name: "nobody", timeout_ms: "1" }, -32602, "InvalidParams"],
    ["execute_skill", { name: "nobody", input_blobs: [1] }, -32602, "InvalidParams"],
    ["execute_skill", { name: "nobody", input_blobs: [`blob:${"0".repeat(32)}`] }, -32001, "SkillNotFound"],
    ["execute_skill", { skill: "nobody", arguments: {} }, -32001, "SkillNotFound"],
    ["execute_skill", { skill: "acme.text", arguments: [1] }, -32602, "InvalidParams"],
    ["execute_skill", { skill: "acme.text", name: "acme.text" }, -32602, "InvalidParams"],
    ["execute_skill", { skill: "acme.text", arguments: {}, args: {} }, -32602, "InvalidParams"],
    ["execute_skill", { name: "off.limits" }, -32005, "NotExecutable"],
    ["execute_skill", { name: "sales.sync" }, -32005, "NotExecutable"],
    ["execute_skill", { name: "acme.how" }, -32005, "NotExecutable"],
    ["execute_skill", { name: "faulty.act" }, -32005, "NotExecutable"],
    ["execute_skill", { name: "stranger.act" }, -32005, "NotExecutable"],
    ["execute_skill", { name: "tally" }, -32005, "NotExecutable"],
    ["execute_skill", { name: "tally.add" }, -32005, "NotExecutable"],
    ["execute_skill", { name: "looker" }, -32005, "NotExecutable"],
    ["execute_skill", { name: "logs" }, -32005, "NotExecutable"],
    ["run_code", { code: "x" }, -32602, "InvalidParams"],
    ["run_code", { language: "javascript", code: "x" }, -32602, "InvalidParams"],
    ["run_code", { language: "python" }, -32602, "InvalidParams"],
    ["run_code", { language: "python", code: "x", entrypoint: 1 }, -32602, "InvalidParams"],
    ["run_code", { language: "python", code: "x", limits: 5 }, -32602, "InvalidParams"],
    ["run_code", { language: "python", code: "x", limits: { timeout_ms: "1" } }, -32602, "InvalidParams"],
    ["run_code", { language: "python", mount_skills: ["nobody"] }, -32602, "InvalidParams"],
    ["run_code", { language: "python", code: "x", mount_skills: ["nobody"], args: 1 }, -32602, "InvalidParams"],
    ["run_code", { language: "python", code: "x", mount_skills: ["nobody"] }, -32001, "SkillNotFound"],
    ["run_code", { language: "python", code: "x", mount_skills: ["notes"] }, -32005, "NotExecutable"],
    ["run_code", { language: "python", code: "x", mount_skills: ["stranger.act"] }, -32005, "NotExecutable"],
    ["run_code", { language: "python", code: "x", mount_skills: ["logs"] }, -32005, "NotExecutable"],
    ["run_code", { language: "python", code: "x", mount_skills: ["faulty.act"] }, -32005, "NotExecutable"],
    ["run_code", { language: "python", code: "x", input_blobs: ["../etc"] }, -32003, "BlobNotFound"],
    ["create_blob", { content: "x" }, -32602, "InvalidParams"],
    ["create_blob", { kind: "text/plain" }, -32602, "InvalidParams"],
    ["create_blob", { content: { a: 1 }, kind: "text/plain" }, -32602, "InvalidParams"],
    ["create_blob", { content: "x", kind: "text" }, -32602, "InvalidParams"],
    ["read_blob", {}, -32602, "InvalidParams"],
    ["read_blob", { blob_id: "blob:../../etc/passwd" }, -32003, "BlobNotFound"],
    ["read_blob", { blob_id: `blob:${"0".repeat(32)}` }, -32003, "BlobNotFound"],
    ["no_such_method", {}, -32601, "MethodNotFound"],
  ])("%s %j is an error of the protocol: %d", async (method, params, code, type) => {
    const { error, result } = await ask(method, params);
    expect(result).toBeUndefined();
    expect(error).toMatchObject({ code, message: expect.any(String), data: { type } });
  });

  it("about untrusted code names the option that trusts it", async () => {
    for (const [method, params] of [
      ["execute_skill", { name: "stranger.act" }],
      ["run_code", { language: "python", code: "x", mount_skills: ["stranger.act"] }],
    ] as const) {
      expect((await ask(method, params)).error.message).toContain("--trust-skill stranger.act");
    }
    expect((await ask("execute_skill", { name: "tally.add" })).error.message).toContain("--trust-skill tally");
  });

  it("is never reported as an internal error", () => expect(faults).toEqual([]));
});

describe("an execution", () => {
  it.each<[string, object]>([
    ["execute_skill", { name: "acme.text" }],
    ["run_code", { language: "python", code: "def main(args):\n    return 1\n" }],
  ])("without a sandbox is refused, and the error names what to install: %s", async (method, params) => {
    const { run: runForeign } = await firstThatWorks([]);
    const { error } = await ask(method, params, optionsOf(await openMethods(memoryBlobs(), { runForeign })));
    expect(error).toMatchObject({ code: -32005, message: expect.stringMatching(/bubblewrap/) });
  });

  it.skipIf(!runsPython)("of code imports the Python of any skill (needs a sandbox and Python)", async () => {
    const code = "from skills.py_tally import handler\ndef main(args):\n    return handler({'numbers': [1, 2]})\n";
    const { result } = await ask("run_code", { language: "python", code, mount_skills: ["py-tally"] });
    expect(result, JSON.stringify(result)).toMatchObject({ status: "completed", output: 3 });
  });

  it("without a declared secret is refused, and the secret is named", async () => {
    const { error } = await ask("execute_skill", { name: "sales.sync" });
    expect(error).toMatchObject({ code: -32005, message: expect.stringContaining("SYNC_TOKEN is not set") });
  });

  it("whose arguments do not fit has failed, and the error names the place", async () => {
    const { result } = await ask("execute_skill", { name: "acme.text.count", args: { text: 7 } });
    expect(result).toMatchObject({ status: "failed", error: { type: "ValidationError" } });
    expect(JSON.stringify(result)).toContain("text");
  });

  it("of one tool of a skill that has several is a run too", async () => {
    const { result } = await ask("execute_skill", { name: "logs.search", args: { files: "no such file", query: "x" } });
    expect(result).toMatchObject({ status: expect.stringMatching(/^(completed|failed)$/), logs_preview: "" });
  });
});

it("a skill that is an MCP server is described with its tools, and each can be executed", async () => {
  expect((await ask("describe_skill", { name: "looker", detail: "all" })).error.code).toBe(-32602);
  expect(existsSync(starts)).toBe(false);
  expect((await described({ name: "looker" })).skill.manifest).toMatchObject({
    kind: "action",
    available: true,
    tools: [{ name: "looker.look", description: "Looks." }],
  });
  await described({ name: "looker", detail: "full" });
  expect(readFileSync(starts, "utf8")).toBe("start\n");
  expect((await ask("execute_skill", { name: "looker.look" })).result).toMatchObject({
    status: "completed",
    output: "seen",
  });
  expect((await ask("execute_skill", { name: "looker.gone" })).result).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("has no tool gone") },
  });
});

describe("a blob", () => {
  const create = async (content: string, kind = "text/plain") =>
    (await ask("create_blob", { content, kind })).result as { blob_id: string; size_bytes: number };
  const read = async (params: object) => (await ask("read_blob", params)).result;

  it("is counted in bytes and identified by its content", async () => {
    const { blob_id, size_bytes } = await create("äöü");
    expect(size_bytes).toBe(6);
    expect(blob_id).toMatch(/^blob:/);
    expect((await create("äöü")).blob_id).toBe(blob_id);
    expect((await create("äöü", "text/markdown")).blob_id).not.toBe(blob_id);
  });

  it("may be empty", async () => {
    const { blob_id } = await create("");
    expect(await read({ blob_id })).toEqual({
      blob_id,
      kind: "text/plain",
      preview: "",
      size_bytes: 0,
      truncated: false,
    });
  });

  it("can be read by its head, its tail or in full", async () => {
    const { blob_id } = await create(`${"a".repeat(2000)}${"z".repeat(2000)}`);
    expect(await read({ blob_id })).toMatchObject({ preview: "a".repeat(2000), size_bytes: 4000, truncated: true });
    expect(await read({ blob_id, max_bytes: 3 })).toMatchObject({ preview: "aaa", truncated: true });
    expect(await read({ blob_id, mode: "sample_tail", max_bytes: 3 })).toMatchObject({
      preview: "zzz",
      truncated: true,
    });
    expect(await read({ blob_id, mode: "sample_tail", max_bytes: 9999 })).toMatchObject({ truncated: false });
    const whole = await read({ blob_id, mode: "full", max_bytes: 3 });
    expect(whole).toMatchObject({ truncated: false });
    expect(String(whole.preview)).toHaveLength(4000);
  });

  it("is refused when it is too large, alone or with the others", async () => {
    const small = optionsOf(await openMethods(memoryBlobs({ mostBytes: 10, quotaBytes: 15 })));
    const text = (length: number) => ({ content: "x".repeat(length), kind: "text/plain" });
    expect((await ask("create_blob", text(11), small)).error).toMatchObject({
      code: -32006,
      data: { type: "PayloadTooLarge" },
    });
    expect((await ask("create_blob", text(10), small)).result).toMatchObject({ size_bytes: 10 });
    expect((await ask("create_blob", text(6), small)).error).toMatchObject({ code: -32006 });
  });

  it("is sampled in bytes, and never cut inside a character", async () => {
    const { blob_id } = await create("ä\u{1F600}ö");
    expect(await read({ blob_id, max_bytes: 5 })).toMatchObject({ preview: "ä", truncated: true });
    expect(await read({ blob_id, mode: "sample_tail", max_bytes: 5 })).toMatchObject({ preview: "ö", truncated: true });
  });
});

it("the guide is the program's own, even if a project has one of that name, and the same in every place", async () => {
  const { content } = (await ask("load_skills_protocol_guide")).result;
  for (const method of options.methods.keys()) expect(content).toContain(`\`${method}\``);
  const about = await described({ name: "skills.protocol.guide", detail: "full" });
  expect(about.skill).toMatchObject({ document: content, manifest: { version: "0.1.0", kind: "instruction" } });
  const file = await ask("read_skill_file", { name: "skills.protocol.guide", path: "SKILL.md" });
  expect(String(file.result.content).trimEnd().endsWith(String(content))).toBe(true);
});
