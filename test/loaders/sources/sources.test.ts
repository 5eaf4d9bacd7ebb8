import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/values.ts";
import type { Workflow } from "../../../src/core/document/workflow/workflow.ts";
import type { Network } from "../../../src/loaders/sources/source-fetch.ts";
import { loadSources, type SourceOptions } from "../../../src/loaders/sources/sources.ts";
import { type Loopback, startLoopback } from "../../../src/testing.ts";

let dir: string;
beforeAll(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), "sources-")));
  await mkdir(join(dir, "flows/prompts"), { recursive: true });
  await mkdir(join(dir, "work"));
  await mkdir(join(dir, "work-other"));
  await writeFile(join(dir, "flows/prompts/collect.md"), "\uFEFFCollect.\n");
  await writeFile(join(dir, "flows/near.md"), "near");
  await writeFile(join(dir, "flows/blank.md"), " \n");
  await writeFile(join(dir, "flows/latin.md"), Buffer.from([0x63, 0x61, 0x66, 0xe9]));
  await writeFile(join(dir, "flows/large.md"), "");
  await truncate(join(dir, "flows/large.md"), 5 * 1024 * 1024 + 1);
  await writeFile(join(dir, "work/notes.md"), "notes");
  await writeFile(join(dir, "work-other/secret.md"), "secret");
  await symlink(join(dir, "work-other"), join(dir, "work/link"));
  await symlink(join(dir, "work"), join(dir, "alias"));
  await symlink("gone.md", join(dir, "flows/dangling"));
  await mkdir(join(dir, "work/.git"));
  await mkdir(join(dir, "work/sub"));
  await symlink(".git", join(dir, "work/link-to-hidden"));
  for (const file of [".git/config", ".env"]) await writeFile(join(dir, "work", file), "hidden");
  await symlink("loop", join(dir, "flows/loop"));
});
afterAll(() => rm(dir, { recursive: true }));

const services: Loopback[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

function workflow(parts: Partial<Workflow>): Workflow {
  return { id: "w", name: "W", entry: "a", nodes: { a: { name: "A", instruction: "do" } }, edges: [], ...parts };
}

function load(parts: Partial<Workflow>, input: JsonObject = {}, options: Partial<SourceOptions> = {}) {
  const workDir = options.workDir ?? join(dir, "work");
  const places = { baseDir: join(dir, "flows"), workDir, documentRoot: "/", inputRoot: workDir };
  return loadSources(workflow(parts), input, { ...places, offline: false, auth: {}, ...options });
}

async function codesOf(loaded: ReturnType<typeof load>) {
  return (await loaded).diagnostics.map(({ code }) => code);
}

describe("an instruction", () => {
  test("that is blank is refused, other Sources may be blank", async () => {
    const { diagnostics } = await load({
      nodes: { a: { name: "A", instruction: "./blank.md" } },
      context: ["./blank.md"],
    });
    expect(diagnostics.map(({ path, message }) => [path, message])).toEqual([
      [["nodes", "a", "instruction"], "nodes.a.instruction must not be empty"],
    ]);
  });
});

describe("inline", () => {
  test("is used as written, white space kept, with its hash", async () => {
    const { sources, diagnostics } = await load({ rules: [{ inline: "./x \n" }] });
    expect(diagnostics).toEqual([]);
    expect(sources["nodes.a.instruction"]).toEqual({
      content: "do",
      kind: "inline",
      origin: "do",
      resolver: "inline",
      hash: "ac0b52a2ae6ef999",
    });
    expect(sources["rules[0]"]).toMatchObject({ content: "./x \n", origin: { inline: "./x \n" } });
  });

  test("ten thousand instructions resolve without waiting for anything", async () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `n${index}`);
    const nodes = Object.fromEntries(ids.map((id) => [id, { name: id, instruction: `Do ${id}.` }]));
    const { sources } = await load({ nodes });
    expect(Object.keys(sources)).toHaveLength(10_000);
    expect(sources["nodes.n9999.instruction"]?.content).toBe("Do n9999.");
  });
});

describe("files", () => {
  test("of the document are relative to its folder and lose their byte-order mark", async () => {
    const { sources } = await load({ context: ["./prompts/collect.md", { file: "near.md" }, "../work/notes.md"] });
    const { hash, ...rest } = sources["context[0]"] ?? {};
    expect(hash).toMatch(/^[0-9a-f]{16}$/);
    expect(rest).toEqual({
      content: "Collect.\n",
      kind: "file",
      origin: "./prompts/collect.md",
      resolver: "file",
      sourcePath: join(dir, "flows/prompts/collect.md"),
    });
    expect(sources["context[1]"]).toMatchObject({ content: "near", origin: { file: "near.md" } });
    expect(sources["context[2]"]).toMatchObject({ content: "notes" });
  });

  test("of the input are relative to the working directory", async () => {
    const { sources } = await load({}, { rules: "./notes.md", context: [join(dir, "work/notes.md")] });
    expect(sources["input.rules[0]"]).toMatchObject({ content: "notes", sourcePath: join(dir, "work/notes.md") });
    expect(sources["input.context[0]"]).toMatchObject({ content: "notes" });
  });

  test.each(["./gone.md", "./dangling", "./near.md/x", "../nowhere/gone.md"])("that are missing: %s", async (file) => {
    expect(await codesOf(load({ rules: [file] }))).toEqual(["SOURCE_FILE_NOT_FOUND"]);
  });

  test("that are missing are named with their field and absolute path", async () => {
    const { diagnostics } = await load({ nodes: { a: { name: "A", instruction: "./gone/x.md" } } });
    expect(diagnostics).toEqual([
      {
        severity: "error",
        code: "SOURCE_FILE_NOT_FOUND",
        message: `nodes.a.instruction: there is no file ${join(dir, "flows/gone/x.md")}`,
        path: ["nodes", "a", "instruction"],
        hint: expect.stringContaining("inline"),
      },
    ]);
  });

  test.each([
    ["./prompts", "it is a directory"],
    ["./latin.md", "it is not UTF-8 text"],
    ["./large.md", "it is larger than 5 MiB"],
    ["/dev/null", "it is not a regular file"],
    ["./near.md\0.txt", "its name contains a NUL character"],
    ["./loop", "ELOOP"],
    [`./${"x".repeat(300)}`, "ENAMETOOLONG"],
  ])("that cannot be read have the reason in the error: %j", async (file, reason) => {
    const { diagnostics } = await load({ rules: [file] });
    expect(diagnostics).toMatchObject([
      { code: "SOURCE_FILE_READ_FAILED", path: ["rules", 0], message: expect.stringContaining(reason) },
    ]);
    expect(diagnostics[0]?.message).toContain("rules[0]: ");
  });
});

describe("confinement", () => {
  test.each([
    "../flows/near.md",
    "../work-other/secret.md",
    "./link/secret.md",
    "./link/gone.md",
    "./link",
    "/etc/hostname",
    "../nowhere/gone.md",
  ])("a file of the input outside the working directory is refused, existing or not: %s", async (file) => {
    const { sources, diagnostics } = await load({}, { context: file });
    expect(sources["input.context[0]"]).toBeUndefined();
    expect(diagnostics).toMatchObject([{ code: "SOURCE_FILE_OUTSIDE_ROOT", path: ["input", "context", 0] }]);
  });

  test("a working directory that is a link contains its files", async () => {
    expect(await codesOf(load({}, { rules: "./notes.md" }, { workDir: join(dir, "alias") }))).toEqual([]);
  });

  test("another root may contain the input's files", async () => {
    const lifted = await load({}, { rules: join(dir, "flows/near.md") }, { inputRoot: dir });
    expect(lifted.sources["input.rules[0]"]?.content).toBe("near");
  });

  test.each(["../work/notes.md", "./link-to-hidden/config", "./.git/config", ".env", "sub/../notes.md"])(
    "a file of the input is refused whose path has a dot segment: %s",
    async (file) => {
      const { diagnostics } = await load({}, { rules: { file } });
      expect(diagnostics).toMatchObject([{ code: "SOURCE_FILE_OUTSIDE_ROOT", path: ["input", "rules", 0] }]);
    },
  );

  test("nor does a root that contains everything open hidden files to the input", async () => {
    const { diagnostics } = await load({}, { rules: join(dir, "work/.env") }, { inputRoot: "/" });
    expect(diagnostics).toMatchObject([{ code: "SOURCE_FILE_OUTSIDE_ROOT" }]);
  });

  test("rules and context of the input are data if it has no root", async () => {
    const input = { rules: ["./notes.md", { url: "https://rules.example/x" }, 7], context: "/etc/passwd" };
    const { sources, diagnostics } = await load({}, input, { inputRoot: undefined });
    expect([Object.keys(sources), diagnostics]).toEqual([["nodes.a.instruction"], []]);
  });

  test("a root confines the document's files", async () => {
    const rules = ["./prompts/collect.md", "./near.md", "/etc/hostname", "../nowhere/gone.md"];
    const documentRoot = join(dir, "flows/prompts");
    const { sources, diagnostics } = await load({ rules }, {}, { documentRoot });
    expect(sources["rules[0]"]?.content).toBe("Collect.\n");
    expect(diagnostics.map(({ code, path }) => [code, path])).toEqual(
      [1, 2, 3].map((index) => ["SOURCE_FILE_OUTSIDE_ROOT", ["rules", index]]),
    );
  });

  test("a folder whose name starts like the root's is outside", async () => {
    const { diagnostics } = await load({ rules: ["../work-other/secret.md"] }, {}, { documentRoot: join(dir, "work") });
    expect(diagnostics).toMatchObject([{ code: "SOURCE_FILE_OUTSIDE_ROOT" }]);
  });

  test("the same file may be readable for the document and not for the input", async () => {
    const { sources, diagnostics } = await load({ rules: ["./near.md"] }, { rules: join(dir, "flows/near.md") });
    expect(sources["rules[0]"]?.content).toBe("near");
    expect(diagnostics).toMatchObject([{ path: ["input", "rules", 0] }]);
  });
});

describe("addresses", () => {
  async function openWeb(text: string): Promise<{ service: Loopback; network: Network }> {
    const service = await startLoopback((_request, response) => void response.end(text));
    services.push(service);
    const port = Number(new URL(service.url).port);
    const network: Network = {
      lookup: async () => ["93.184.216.34"],
      connect: async () => {
        const socket = connect(port, "127.0.0.1");
        await once(socket, "connect");
        return socket;
      },
    };
    return { service, network };
  }

  test("are fetched once per run, with one record per field", async () => {
    const { service, network } = await openWeb("do");
    const url = "https://example.test/rules.md";
    const { sources } = await load({ rules: [url, { url, type: "fetch" }] }, { rules: url }, { network });
    expect(service.requests).toHaveLength(1);
    expect(sources["rules[1]"]).toEqual({
      content: "do",
      kind: "url",
      origin: { url, type: "fetch" },
      resolver: "fetch",
      hash: "ac0b52a2ae6ef999",
      fetchedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(sources["input.rules[0]"]).toMatchObject({ content: "do", origin: url });
  });

  test("get the token of their host", async () => {
    const { service, network } = await openWeb("do");
    const auth = { "example.test": "token-1" };
    await load({ rules: ["https://example.test/", "https://other.test/"] }, {}, { network, auth });
    const sent = service.requests.map(({ headers }) => [headers.host, headers.authorization]);
    expect(sent.sort()).toEqual([
      ["example.test", "Bearer token-1"],
      ["other.test", undefined],
    ]);
  });

  test("fail while offline, and the rest resolves", async () => {
    const { service, network } = await openWeb("do");
    const rules = ["https://example.test/", "./near.md", "text"];
    const { sources, diagnostics } = await load({ rules }, {}, { network, offline: true });
    expect(diagnostics).toMatchObject([{ code: "SOURCE_OFFLINE_REQUIRES_FETCH", path: ["rules", 0] }]);
    expect(Object.keys(sources)).toEqual(["rules[1]", "rules[2]", "nodes.a.instruction"]);
    expect(service.requests).toEqual([]);
  });

  test("that are refused name the field and the address", async () => {
    const { diagnostics } = await load({ rules: ["http://169.254.169.254/latest"] });
    expect(diagnostics).toMatchObject([
      { code: "SOURCE_URL_BLOCKED", message: expect.stringContaining("rules[0]: http://169.254.169.254/latest") },
    ]);
  });
});

test("all problems are reported together, in the order of the fields", async () => {
  const input = { rules: ["", { inline: "a", file: "b" }, 7], context: { url: "https://example.test/", type: "git" } };
  const nodes = {
    a: {
      name: "A",
      instruction: "./gone.md",
      rules: ["http://127.1/"],
      context: { only: true, sources: ["./prompts"] },
    },
    b: { name: "B", instruction: "./gone.md" },
  };
  const { sources, diagnostics } = await load({ nodes, context: ["fine"] }, input);
  expect(diagnostics.map(({ code, message }) => [message.split(": ")[0], code])).toEqual([
    ["input.rules[0]", "SOURCE_INVALID_SHAPE"],
    ["input.rules[1]", "SOURCE_INVALID_SHAPE"],
    ["input.rules[2]", "SOURCE_INVALID_SHAPE"],
    ["input.context[0]", "SOURCE_INVALID_TYPE"],
    ["nodes.a.instruction", "SOURCE_FILE_NOT_FOUND"],
    ["nodes.a.rules[0]", "SOURCE_URL_BLOCKED"],
    ["nodes.a.context[0]", "SOURCE_FILE_READ_FAILED"],
    ["nodes.b.instruction", "SOURCE_FILE_NOT_FOUND"],
  ]);
  expect(Object.keys(sources)).toEqual(["context[0]"]);
});
