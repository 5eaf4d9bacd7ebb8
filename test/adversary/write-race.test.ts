import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ForeignCommand } from "../../src/core/skill/sandbox.ts";
import { openContents } from "../../src/loaders/folder/skill-contents.ts";
import { openSkillSet } from "../../src/loaders/registry/open.ts";
import { toolContext } from "../../src/testing.ts";
import { makeProject } from "../cli/program.ts";
import { foreignHost, hasPython, makeFolder } from "../loaders/foreign.ts";
import { sandboxHost } from "../sandbox/host.ts";
import { isolatingSandboxes } from "../sandbox/isolating.ts";

/**
 * The bytes that were compared are the bytes that run, even if a file is written to between its comparison and its
 * start.
 */

const sandbox = isolatingSandboxes.find(([, , works]) => works)?.[1];
const TOML =
  'name = "x"\nversion = "1.0.0"\ndescription = "d"\nkind = "action"\n[runtime]\nlanguage = "python"\nentrypoint = "go.py"\nexport = "main"\n';

/** The skill `x`, whose file is overwritten by another process as soon as its call has passed all checks. */
function raced(root: string, file: string, evil: string) {
  const host = { ...foreignHost, cwd: root, env: { PATH: process.env.PATH } } as typeof foreignHost;
  const runForeign = (command: ForeignCommand) => {
    writeFileSync(join(root, file), evil);
    if (!sandbox) throw new Error("there is no sandbox");
    return sandbox.run(command);
  };
  return openSkillSet({
    builtin: makeFolder(),
    own: [],
    levels: [{ kind: "project", path: join(root, "skills"), trusted: false, root }],
    servers: new Map(),
    disabled: [],
    trust: { ids: new Set(["x"]), remembered: [] },
    variables: new Map(),
    overrides: new Map(),
    env: {},
    host: { ...host, runForeign },
  });
}

describe.skipIf(!sandbox)("a trusted file that is written to while it is started", () => {
  it.each<[what: string, files: Readonly<Record<string, unknown>>, file: string, evil: string, needsPython: boolean]>([
    [
      "a script",
      {
        "skills/x/SKILL.md": "---\nname: x\ndescription: d\n---\nUse it.",
        "skills/x/tools.json": [{ name: "go", description: "d", script: "go.mjs" }],
        "skills/x/go.mjs": 'export default () => "good";',
      },
      "skills/x/go.mjs",
      'export default () => "evil";',
      false,
    ],
    [
      "what a script imports from elsewhere",
      {
        "skills/x/SKILL.md": "---\nname: x\ndescription: d\n---\nUse it.",
        "skills/x/tools.json": [{ name: "go", description: "d", script: "go.mjs" }],
        "skills/x/go.mjs": 'export { default } from "../../lib/said.mjs";',
        "lib/said.mjs": 'export default () => "good";',
      },
      "lib/said.mjs",
      'export default () => "evil";',
      false,
    ],
    [
      "a package",
      {
        "skills/x/skill.toml": TOML,
        "skills/x/SKILL.md": "---\nname: X\nshort_description: d\n---\nUse it.",
        "skills/x/go.py": 'def main(args):\n    return "good"\n',
      },
      "skills/x/go.py",
      'def main(args):\n    return "evil"\n',
      true,
    ],
  ])("runs with the content that was compared: %s", async (_, files, file, evil, needsPython) => {
    if (needsPython && !hasPython) return;
    const root = makeProject(files);
    const found = await raced(root, file, evil).find("x");
    const [tool] = found?.skill.tools ?? [];
    const answer = await tool?.handler({} as never, toolContext({ workDir: root }));
    expect(JSON.stringify(answer)).toContain("good");
    expect(readFileSync(join(root, file), "utf8")).toContain("evil");
  });
});

describe("the private copy of what is trusted", () => {
  const copier = { self: sandboxHost.self };

  it("is readable by this user alone, and keeps the content that was digested", () => {
    const root = makeProject({ "x/run.sh": "echo good", "x/deep/part.txt": "part" });
    const contents = openContents({ path: join(root, "x") });
    expect(contents.sourceOf(join(root, "x"), copier)).toBe(join(root, "x"));
    contents.pin();
    contents.digest();
    const copy = contents.sourceOf(join(root, "x"), copier);
    writeFileSync(join(root, "x/run.sh"), "echo evil");
    expect(contents.sourceOf(join(root, "x"), copier)).toBe(copy);
    expect(readFileSync(join(copy, "run.sh"), "utf8")).toBe("echo good");
    expect(readFileSync(join(copy, "deep/part.txt"), "utf8")).toBe("part");
    expect(statSync(dirname(copy)).mode & 0o777).toBe(0o700);
  });

  it("is not made from files that changed since, and no module runs from such a file", () => {
    const root = makeProject({ "x/run.mjs": "good" });
    const contents = openContents({ path: join(root, "x") });
    contents.pin();
    contents.digest();
    contents.verify(join(root, "x/run.mjs"), "good");
    expect(() => contents.verify(join(root, "x/run.mjs"), "evil")).toThrow(/changed after it was loaded/);
    writeFileSync(join(root, "x/run.mjs"), "evil");
    expect(() => contents.sourceOf(join(root, "x"), copier)).toThrow(/changed after it was loaded/);
  });
});
