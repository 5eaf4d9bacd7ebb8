import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exitCodeOf, SkillflowError } from "../../../src/core/base/errors.ts";
import { loadExtendedConfig } from "../../../src/loaders/sources/extends.ts";

const BASE =
  "model: a:b\nwrites: deny\nlimits: { max_steps: 5, timeout: 1m }\nmcpServers: { docs: { command: run } }\n";
const root = mkdtempSync(join(tmpdir(), "extends-"));
const repository = join(root, "shared");
const cache = { XDG_CACHE_HOME: join(root, "cache") };
const env = { PATH: process.env.PATH, HOME: root, GIT_CONFIG_GLOBAL: "/dev/null", ...cache };
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const git = (...args: string[]) =>
  execFileSync("git", ["-C", repository, "-c", "user.name=a", "-c", "user.email=a@b.test", ...args], {
    encoding: "utf8",
  }).trim();

let commit = "";
let next = 0;
beforeAll(() => {
  write(join(repository, "team/base.yml"), BASE);
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "-m", "base");
  commit = git("rev-parse", "HEAD");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Loads the config of a new project, in an otherwise empty folder. */
function load(own: string, files: Readonly<Record<string, string>> = {}, means: object = {}, origin?: string) {
  const project = join(root, `project-${++next}`);
  mkdirSync(join(project, ".git"), { recursive: true });
  for (const [name, text] of Object.entries({ ".skillflow.yml": own, ...files })) write(join(project, name), text);
  symlinkSync(join(repository, "team/base.yml"), join(project, "link.yml"));
  if (origin !== undefined) {
    execFileSync("git", ["init", "--quiet", project]);
    execFileSync("git", ["-C", project, "remote", "add", "origin", origin]);
  }
  return loadExtendedConfig(project, { env, checkout: project, hosts: [], ...means })?.config;
}

const near = (file: string, text = BASE) => `extends: { file: ${file}, sha256: ${sha256(text)} }\n`;
const far = (place: string, text = BASE) => `extends: { git: '${place}', sha256: ${sha256(text)} }\n`;

describe("a config file that extends others", () => {
  it("overrides their values, and merges their maps", () => {
    const own = `${near("base.yml")}writes: plan\nlimits: { timeout: 5m }\nmcpServers: { docs: { url: "http://d.test" } }\n`;
    expect(load(own, { "base.yml": BASE })).toEqual({
      model: "a:b",
      writes: "plan",
      limits: { max_steps: 5, timeout: "5m" },
      mcpServers: { docs: { url: "http://d.test" } },
    });
  });

  it("has several, of which later ones override earlier ones", () => {
    const other = "model: c:d\n";
    const own = `extends: [{ file: base.yml, sha256: ${sha256(BASE)} }, { file: o.yml, sha256: ${sha256(other)} }]`;
    expect(load(own, { "base.yml": BASE, "o.yml": other })).toMatchObject({ model: "c:d", writes: "deny" });
  });

  it("reads a commit once, and then its copy", () => {
    const own = far(`${repository}@${commit}:team/base.yml`);
    expect(load(own)).toMatchObject({ model: "a:b" });
    const gone = far(`https://host.invalid/x.git@${commit}:team/base.yml`);
    expect(load(gone, {}, { offline: true })).toMatchObject({ model: "a:b" });
    write(join(cache.XDG_CACHE_HOME, "skillflow/extends", sha256(BASE)), "model: evil:x");
    expect(load(own)).toMatchObject({ model: "a:b" });
  });

  it.each<[string, () => string, number, RegExp]>([
    ["other content", () => near("base.yml", "other"), 2, /its sha256 is [0-9a-f]{64}, not/],
    ["no digest", () => "extends: { file: base.yml }", 2, /sha256/],
    ["neither a file nor a commit", () => `extends: { sha256: ${sha256("")} }`, 2, /either file or git/],
    ["a missing file", () => near("none.yml"), 2, /cannot be read/],
    ["a file elsewhere", () => near("../shared/team/base.yml"), 2, /not in the repository/],
    ["a link to a file elsewhere", () => near("link.yml"), 2, /not in the repository/],
    ["a file that extends", () => near("deep.yml", near("base.yml")), 2, /cannot extend another/],
    [
      "a file with an unknown key",
      () => near("odd.yml", "modell: x"),
      2,
      /odd\.yml:1:1: modell is not a known setting/,
    ],
    ["a branch", () => far(`${repository}@main:team/base.yml`), 2, /40 digits/],
    ["an address with a query", () => far(`http://127.0.0.1:9/delete?x=@${commit}:a`, "x"), 2, /without \? and #/],
    ["a missing file of a commit", () => far(`${repository}@${commit}:none.yml`, "x"), 2, /no such file in the commit/],
    ["a missing commit", () => far(`${repository}@${"0".repeat(40)}:team/base.yml`, "x"), 2, /no such commit/],
    ["a missing repository", () => far(`${root}/none@${commit}:team/base.yml`, "x"), 4, /cannot be reached/],
    ["a program", () => far(`ext::sh -c touch% ${root}/ran@${commit}:a`, "x"), 2, /may contact only/],
    ["an option", () => far(`--upload-pack=touch ${root}/ran@${commit}:a`, "x"), 2, /may contact only/],
  ])("refuses %s", (_, own, code, expected) => {
    const files = { "base.yml": BASE, "deep.yml": near("base.yml"), "odd.yml": "modell: x" };
    const error = (() => {
      try {
        return load(own(), files);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(SkillflowError);
    const { message = "", code: found = "" } = error instanceof SkillflowError ? error : {};
    expect([exitCodeOf(found), message]).toEqual([code, expect.stringMatching(expected)]);
    expect(existsSync(join(root, "ran"))).toBe(false);
  });

  const HERE = "http://127.0.0.1:9/x";
  it.each<[string, string, string | undefined, readonly string[], boolean]>([
    ["a host", HERE, undefined, [], false],
    ["a host that is not the origin's", "https://evil.invalid/x", HERE, [], false],
    ["another port of the origin", "http://127.0.0.1:6379/x", HERE, [], false],
    ["a host whose user is the origin's", "https://127.0.0.1:9@evil.invalid/x", HERE, [], false],
    ["a host behind a backslash", "http://127.0.0.1:9\\@evil.invalid/x", HERE, [], false],
    ["a host behind an escape", "git://evil.invalid%2Fx@127.0.0.1:9/p", HERE, [], false],
    ["a host in brackets", "ssh://[evil.invalid]:y@127.0.0.1:9/p", HERE, [], false],
    ["a host that begins like it", "https://127.0.0.1.evil.invalid/x", HERE, [], false],
    ["what only git takes for a host", "evil.invalid:x", HERE, [], false],
    ["a host in a file URL", "file://evil.invalid/x", "file://evil.invalid/x", [], false],
    ["the origin's host", "http://127.0.0.1:9/y", HERE, [], true],
    ["the origin's host by ssh", "git@127.0.0.1:y", HERE, [], true],
    ["a host that the user allows", HERE, "https://git.invalid/x", ["127.0.0.1:9"], true],
    ["another port of such a host", "http://127.0.0.1:6379/x", undefined, ["127.0.0.1"], false],
  ])("contacts %s only if permitted", (_, url, origin, hosts, isContacted) => {
    const expected = isContacted ? /cannot be reached/ : /may contact only the host of its own origin/;
    expect(() => load(far(`${url}@${commit}:a`, "contacted"), {}, { hosts }, origin)).toThrow(expected);
  });

  it("leaves the user part of an address out of its errors", () => {
    const own = far(`https://u:canary-word@host.invalid/x.git@${commit}:a`, "x");
    expect(() => load(own)).toThrow("extends https://host.invalid/x.git@");
    expect(() => load(own, {}, { offline: true })).toThrow("extends https://host.invalid/x.git@");
    const unreached = () => load(far(`http://u:canary@word@127.0.0.1:9/x@${commit}:a`, "y"), {}, {}, HERE);
    expect(unreached).toThrow(/the host of its own origin|the repository http:\/\/127\.0\.0\.1:9\/x cannot be reached/);
    expect(unreached).not.toThrow("canary");
  });

  it("contacts no other machine offline", () => {
    const own = far(`https://host.invalid/x.git@${commit}:a`, "x");
    expect(() => load(own, {}, { offline: true })).toThrow(/offline/);
  });
});
