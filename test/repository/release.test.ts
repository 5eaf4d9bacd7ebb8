import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { makeProject } from "../cli/program.ts";
import { bundled } from "../harness/bundled.ts";

/**
 * The release: its workflow in GitHub's own parser, and each of its steps that needs no network, run as the runner
 * does.
 */

const ROOT = join(import.meta.dirname, "..", "..");
const FILE = ".github/workflows/release.yml";
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly environment?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}
const { permissions, jobs }: { permissions: object; jobs: Readonly<Record<string, Job>> } = parse(read(FILE));
const steps = Object.values(jobs).flatMap((job) => job.steps);

describe("files of GitHub Actions", () => {
  let complaintsAbout: (name: string, content: string) => Promise<readonly string[]>;
  beforeAll(async () => {
    const program = bundled(join(ROOT, "test/harness/github-files.ts"), makeProject());
    ({ complaintsAbout } = await import(pathToFileURL(program).href));
  });

  const examples = readdirSync(join(ROOT, "examples")).filter((name) => name.includes("on-github"));
  it.each([FILE, "action.yml", ...examples.map((name) => `examples/${name}`)])("%s has no mistake", async (file) => {
    expect(await complaintsAbout(file, read(file))).toEqual([]);
  });

  it.each([
    ["permissions: {}", "permissions: { content: read }", "Unexpected value 'content'"],
    ["github.token", "githb.token", "Unrecognized named-value: 'githb'"],
    ["needs: build", "needs: built", "depends on unknown job 'built'"],
    ["run: npm ci", "ran: npm ci", "Unexpected value 'ran'"],
  ])("a mistake would be reported: %s -> %s", async (right, wrong, complaint) => {
    expect((await complaintsAbout(FILE, read(FILE).replace(right, wrong))).join("\n")).toContain(complaint);
  });
});

describe("the release workflow", () => {
  it("pins third-party actions, and gives no job more permissions than it needs", () => {
    expect(permissions).toEqual({});
    for (const { uses } of steps) if (uses) expect(uses).toMatch(/^actions\/[\w-]+@[0-9a-f]{40}$/);
    const { build, ...publishing } = jobs;
    expect(build?.permissions).toEqual({ contents: "read" });
    for (const { environment } of Object.values(publishing)) expect(environment).toBe("release");
    for (const { run = "" } of steps) expect(run).not.toContain("${{");
  });

  it("tests before it packs, and publishes the first job's artifacts", () => {
    const commands = (jobs["build"]?.steps ?? []).flatMap(({ run = "" }) => /^npm (?:test|pack)/.exec(run)?.[0] ?? []);
    expect(commands).toEqual(["npm test", "npm pack"]);
    for (const { steps: own } of [jobs["publish"], jobs["image"]].filter((job) => job !== undefined))
      expect(own[1]?.with).toEqual({ name: "release", path: "release" });
  });
});

/** Runs a step of the workflow with bash in a folder, with programs that only record their calls. */
function runStep(name: string, cwd: string, tag: string, fakes: readonly string[] = []) {
  const step = steps.find((one) => one.name === name);
  const tools = makeProject(Object.fromEntries(fakes.map((fake) => [fake, `#!/bin/sh\necho "${fake} $*"\n`])));
  for (const fake of fakes) chmodSync(join(tools, fake), 0o755);
  const { status, stdout, stderr } = spawnSync(
    "bash",
    ["--noprofile", "--norc", "-eo", "pipefail", "-c", step?.run ?? "exit 99"],
    {
      cwd,
      encoding: "utf8",
      env: {
        PATH: [tools, dirname(process.execPath), process.env.PATH].join(":"),
        HOME: tools,
        RUNNER_TEMP: tools,
        GITHUB_REF_NAME: tag,
        GITHUB_SHA: "0".repeat(40),
        GITHUB_ACTOR: "maria",
        GITHUB_REPOSITORY: "Acme/Skillflow",
        GITHUB_REPOSITORY_OWNER: "Acme",
        TOKEN: "ghs_canary",
      },
    },
  );
  return { code: status, stdout, stderr };
}

const { version } = JSON.parse(read("package.json"));
const SOURCES = ["package.json", "package-lock.json", "CHANGELOG.md", "scripts/release", "test/services/package.json"];

function checkout(): string {
  const cwd = makeProject();
  for (const path of SOURCES) cpSync(join(ROOT, path), join(cwd, path), { recursive: true });
  return cwd;
}

describe("a step of the release", () => {
  it("checks the version, and extracts the notes from the changelog", () => {
    const cwd = checkout();
    const { code, stderr } = runStep("Check the version", cwd, `v${version}`);
    expect(code, stderr).toBe(0);
    const notes = readFileSync(join(cwd, "release/notes.md"), "utf8");
    expect(notes).toMatch(/^### Breaking changes\n/);
    expect(notes).not.toMatch(/^## /m);
    const refused = runStep("Check the version", checkout(), "v9.0.0");
    expect(refused.code).toBe(1);
    for (const path of ["package.json", "server.json", "CHANGELOG.md"])
      expect(refused.stderr).toContain(`${path} has version ${version}, and the tag is v9.0.0\n`);
  });

  it("writes an SBOM in CycloneDX 1.5, of all packages that are bundled", () => {
    const cwd = checkout();
    mkdirSync(join(cwd, "release"));
    const { code, stderr } = runStep("Write the SBOM", cwd, `v${version}`);
    expect(code, stderr).toBe(0);
    const sbom = JSON.parse(readFileSync(join(cwd, "release/sbom.cdx.json"), "utf8"));
    const ajv = addFormats.default(new Ajv({ strict: false, logger: false }));
    const isValid = ajv.compile(JSON.parse(read("test/contracts/data/cyclonedx-1.5.json")));
    expect(isValid(sbom), JSON.stringify(isValid.errors)).toBe(true);
    expect([sbom.specVersion, sbom.metadata.component.purl]).toEqual(["1.5", `pkg:npm/skillflow@${version}`]);
    const names = sbom.components.map(({ purl }: { purl: string }) => purl.replace(/@[^@]*$/, ""));
    expect(names).toEqual(expect.arrayContaining(["pkg:npm/zod", "pkg:npm/%40octokit/rest", "pkg:npm/undici"]));
    expect(isValid({ ...sbom, components: [{ name: "a" }] })).toBe(false);
  });

  it("commits the action to the branch v0: first without a parent, then on the existing branch", () => {
    const origin = makeProject();
    const cwd = checkout();
    const git = (...args: string[]) => execFileSync("git", args, { cwd, encoding: "utf8" }).trim();
    execFileSync("git", ["init", "-q", "--bare", origin]);
    git("init", "-q", "-b", "main");
    git("remote", "add", "origin", origin);
    const action = join(cwd, "release/action");
    mkdirSync(join(action, "parts"), { recursive: true });
    for (const [name, text] of Object.entries({ "index.js": "1", "action.yml": "a", "parts/old.js": "o" }))
      writeFileSync(join(action, name), text);
    const first = runStep("Publish the action on the branch v0", cwd, "v0.2.0");
    expect(first.code, first.stderr).toBe(0);
    cpSync(join(action, "index.js"), join(action, "parts/new.js"));
    execFileSync("rm", [join(action, "parts/old.js")]);
    const second = runStep("Publish the action on the branch v0", cwd, "v0.2.1");
    expect(second.code, second.stderr).toBe(0);
    git("fetch", "-q", "origin", "v0");
    expect(git("ls-tree", "-r", "--name-only", "FETCH_HEAD").split("\n")).toEqual([
      "action.yml",
      "index.js",
      "parts/new.js",
    ]);
    expect(git("log", "--format=%s", "FETCH_HEAD").split("\n")).toEqual([
      `Release v0.2.1 from ${"0".repeat(40)}`,
      `Release v0.2.0 from ${"0".repeat(40)}`,
    ]);
    expect(existsSync(join(cwd, ".git/index"))).toBe(false);
  });

  it("names the release, the image and its registry after the tag and the repository", () => {
    const cwd = checkout();
    const published = runStep("Publish the release", cwd, "v0.2.0", ["gh"]);
    expect(published.stdout).toMatch(
      /^gh release create v0\.2\.0 --verify-tag --notes-file release\/notes\.md release\//,
    );
    expect(runStep("Log in to the registry", cwd, "v0.2.0", ["docker"]).stdout).toBe(
      "docker login ghcr.io --username maria --password-stdin\n",
    );
    const image = runStep("Publish the image, with its SBOM and provenance", cwd, "v0.2.0", ["docker"]);
    expect(image.code, image.stderr).toBe(0);
    expect(image.stdout).toContain("--file scripts/release/Dockerfile --pull --push --sbom=true --provenance=mode=max");
    expect(image.stdout).toContain(
      "--build-arg SERVER=io.github.Acme/skillflow --tag ghcr.io/acme/skillflow:0.2.0 release\n",
    );
  });
});

it("server.json has the package's name for the server, and the version of the image", () => {
  const server = JSON.parse(read("scripts/release/server.json"));
  expect(server).toMatchObject({
    name: JSON.parse(read("package.json")).mcpName,
    version,
    packages: [{ registryType: "oci", identifier: `ghcr.io/OWNER/skillflow:${version}` }],
  });
  expect(server.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
  expect(server.description.length).toBeLessThanOrEqual(100);
  expect(read("scripts/release/Dockerfile")).toContain(`ARG SERVER=${server.name}\n`);
});
