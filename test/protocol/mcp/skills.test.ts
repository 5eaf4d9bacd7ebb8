import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { SKILLS_EXTENSION_ID, SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { describe, expect, it } from "vitest";
import { makeProject } from "../../cli/program.ts";
import { connectHere, connectHttp, startHttp } from "../mcp-program.ts";

/** The skills of a project, read by the official client of the extension, which verifies every digest. */

const PICTURE = Buffer.from([0x89, 0x50, 0, 0xff]);
const LONG = "long".repeat(30);
const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;

const markdown = (name: string, more = "") => `---\nname: ${name}\ndescription: About ${name}\n${more}---\nDo it.\r\n`;

function project(): string {
  const cwd = makeProject({
    ".claude/skills/manners/SKILL.md": `\uFEFF${markdown("manners", "metadata:\n  owner: desk\nrank: 2\n")}`,
    [`.claude/skills/manners/references/${LONG}/a b&c?.md`]: "# Forms\n",
    ".claude/skills/manners/.secret": "hidden",
    ".claude/skills/plain/SKILL.md": markdown("plain"),
    ".claude/skills/Odd_Name/SKILL.md": markdown("Odd_Name"),
    ".claude/skills/mapped/SKILL.md": markdown("mapped", "metadata: [1]\n"),
    ".claude/skills/many/SKILL.md": markdown("many"),
    "outside.txt": "not part of a skill",
  });
  const skills = join(cwd, ".claude/skills");
  writeFileSync(join(skills, "manners/picture.png"), PICTURE);
  symlinkSync(join(cwd, "outside.txt"), join(skills, "manners/linked.txt"));
  mkdirSync(join(skills, "many/files"));
  for (let index = 0; index < 512; index++) writeFileSync(join(skills, `many/files/${index}`), "");
  return cwd;
}

const sha256 = (bytes: string | Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

async function readAll(client: Client) {
  const skills = new SkillsClient(client);
  expect(skills.supported).toBe(true);
  const { skills: listed } = await skills.list();
  for (const entry of listed) {
    expect((await skills.get(entry.uri)).skill).toEqual(entry);
    for (const { uri } of entry.resources === "dynamic" ? [] : entry.resources) {
      expect(await skills.read(entry, uri)).toMatchObject({ verified: true });
    }
  }
  return { skills, listed, uris: listed.map(({ uri }) => uri) };
}

describe.each([
  ["an older revision", undefined],
  ["the revision 2026-07-28", MODERN],
])("skills over MCP, %s", (_, options) => {
  it("are listed with the digest of every file, and read as they are on disk", async () => {
    const told = await connectHere({ cwd: project(), ...(options ? { client: options } : {}) });
    const { client } = told;
    expect(client.getServerCapabilities()).toMatchObject({
      resources: {},
      extensions: { [SKILLS_EXTENSION_ID]: {} },
    });
    const { skills, listed, uris } = await readAll(client);
    expect(uris).toEqual(
      expect.arrayContaining(["skill://manners/SKILL.md", "skill://plain/SKILL.md", "skill://logs/SKILL.md"]),
    );
    expect(uris).not.toEqual(expect.arrayContaining([expect.stringMatching(/Odd_Name|mapped|many/)]));
    const manners = listed.find(({ uri }) => uri === "skill://manners/SKILL.md");
    expect(manners).toEqual({
      uri: "skill://manners/SKILL.md",
      frontmatter: { name: "manners", description: "About manners", metadata: { owner: "desk" }, rank: 2 },
      resources: [
        { uri: "skill://manners/SKILL.md", digest: expect.any(String), size: expect.any(Number) },
        { uri: "skill://manners/picture.png", digest: sha256(PICTURE), size: 4 },
        { uri: `skill://manners/references/${LONG}/a%20b&c%3F.md`, digest: sha256("# Forms\n"), size: 8 },
      ],
    });
    if (!manners) throw new Error("it is not listed");
    expect((await skills.read(manners)).text?.startsWith("\uFEFF---")).toBe(true);
    expect(Buffer.from((await skills.read(manners, "picture.png")).bytes)).toEqual(PICTURE);
    for (const uri of [
      "skill://manners/picture.png",
      "skill://nobody/SKILL.md",
      "skill://many/SKILL.md",
      "skill://manners",
      "nonsense",
    ]) {
      await expect(skills.get(uri), uri).rejects.toMatchObject({ code: -32602 });
    }
    for (const uri of [
      "skill://manners/linked.txt",
      "skill://manners/.secret",
      "skill://manners/%2e%2e/plain/SKILL.md",
      "skill://Odd_Name/SKILL.md",
    ]) {
      await expect(client.readResource({ uri }), uri).rejects.toThrow(/there is no resource/);
    }
    expect(told.stderr()).toMatch(/^! .*Odd_Name.*lowercase letters/m);
    expect(told.stderr()).toMatch(/^! mapped: .*metadata must map strings to strings/m);
    expect(told.stderr()).toMatch(/^! many: .*more than 512 files/m);
  });
});

it("an instance is named on stderr if the skill whose files it has is not published", async () => {
  const instances = "skills: { instances: { prometheus: { eu: { PROMETHEUS_URL: { env: PROMETHEUS_URL_EU } } } } }\n";
  const cwd = makeProject({ ".skillflow.yml": instances });
  const PROMETHEUS_URL_EU = "http://127.0.0.1:9";
  const saidWith = async (env: Record<string, string>) => {
    const { client, stderr } = await connectHere({ cwd, env });
    await new SkillsClient(client).list();
    return stderr();
  };
  expect(await saidWith({ PROMETHEUS_URL_EU })).toMatch(/^! prometheus@eu: its files are not offered/m);
  expect(await saidWith({ PROMETHEUS_URL_EU, PROMETHEUS_URL: PROMETHEUS_URL_EU })).not.toContain("prometheus@eu");
});

describe("skills over HTTP", () => {
  it("are read by the official client, and found at the well-known address with their archives", async () => {
    const { url } = await startHttp({ cwd: project() });
    const { uris } = await readAll(await connectHttp(url, MODERN));
    expect(uris).toContain("skill://manners/SKILL.md");
    const index = new URL("/.well-known/agent-skills/index.json", url);
    const answer = await fetch(index);
    expect(answer.headers.get("content-type")).toBe("application/json");
    const { $schema, skills } = (await answer.json()) as { $schema: string; skills: Record<string, string>[] };
    expect($schema).toBe("https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    expect(skills.map(({ name }) => `skill://${name}/SKILL.md`)).toEqual(uris);
    const artifact = async (name: string) => {
      const found = skills.find((skill) => skill.name === name);
      const bytes = Buffer.from(await (await fetch(new URL(found?.url ?? "", index))).arrayBuffer());
      expect(sha256(bytes)).toBe(found?.digest);
      return { type: found?.type, description: found?.description, bytes };
    };
    const plain = await artifact("plain");
    expect([plain.type, plain.description, plain.bytes.toString()]).toEqual([
      "skill-md",
      "About plain",
      markdown("plain"),
    ]);
    const manners = await artifact("manners");
    expect(manners.type).toBe("archive");
    const listed = execFileSync("tar", ["-tzv"], { input: manners.bytes, encoding: "utf8" });
    expect(
      listed
        .trimEnd()
        .split("\n")
        .map((line) => line.replace(/.* 00:00 /, "")),
    ).toEqual(["SKILL.md", "picture.png", `references/${LONG}/a b&c?.md`]);
    const at = (path: string, init?: RequestInit) => fetch(new URL(`/.well-known/agent-skills/${path}`, url), init);
    expect((await at("index.json", { method: "POST" })).status).toBe(405);
    expect(await (await at("index.json", { method: "HEAD" })).text()).toBe("");
    for (const path of ["plain/../../../outside.txt", "nobody/SKILL.md", "manners/SKILL.md", ""]) {
      expect((await at(path)).status, path).toBe(404);
    }
    expect((await at("index.json", { headers: { origin: "https://other.example" } })).status).toBe(403);
  });
});
