import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SkillflowError } from "../../src/core/errors.ts";
import { codeSkill, runWritten } from "../../src/loaders/code.ts";
import { openSkillSet } from "../../src/loaders/skill-set.ts";
import { toolContext } from "../../src/testing.ts";
import { foreignHost, makeFolder } from "./foreign.ts";

const open = (directory: string, runForeign: typeof foreignHost.runForeign, trust: string[] = []) =>
  openSkillSet({
    builtin: join(directory, "builtin"),
    own: [{ skill: codeSkill(), unavailable: undefined }],
    levels: [{ kind: "project", path: join(directory, "own"), trusted: false, root: directory }],
    servers: new Map(),
    disabled: [],
    trust: new Set(trust),
    variables: new Map(),
    overrides: new Map(),
    env: {},
    host: { ...foreignHost, runForeign },
  });
const noSandbox = async () => {
  throw new SkillflowError("sandbox.missing", "python3 was not run", { hint: "install bubblewrap" });
};

describe("code that a model wrote", () => {
  test("fails with what to install where there is no sandbox", async () => {
    const failed = runWritten({ code: "x" }, open(makeFolder(), noSandbox), toolContext());
    await expect(failed).rejects.toThrow("SandboxError: python3 was not run; install bubblewrap");
  });

  test("is not waited for longer than ten minutes, whatever it asks for", async () => {
    const waits: number[] = [];
    const set = open(makeFolder(), async ({ limits }) => {
      waits.push(limits.wallMs);
      return noSandbox();
    });
    for (const limits of [{}, { timeout_ms: 5 }, { timeout_ms: 1e15 }]) {
      await runWritten({ code: "x", limits }, set, toolContext()).catch(() => undefined);
    }
    expect(waits).toEqual([60_000, 5, 600_000]);
  });

  test("imports no package of an untrusted place, also where that holds no program", async () => {
    const manifest = 'name = "a.guide"\nversion = "1.0.0"\ndescription = "d"\nkind = "instruction"\n';
    const document = "---\nname: Guide\nshort_description: d\n---\nRead.";
    const folder = makeFolder({ "own/guide/skill.toml": manifest, "own/guide/SKILL.md": document });
    const wanted = { code: "x", mount_skills: ["a.guide"] };
    await expect(runWritten(wanted, open(folder, noSandbox), toolContext())).rejects.toThrow(
      "needs --trust-skill a.guide",
    );
    const trusting = open(folder, noSandbox, ["a.guide"]);
    await expect(runWritten(wanted, trusting, toolContext())).rejects.toThrow("python3 was not run");
  });

  test("is run by a node's model alone", async () => {
    const set = open(makeFolder(), noSandbox);
    const call = { skill: "code", arguments: { language: "python", code: "x" } };
    await expect(set.host.invoke(call, toolContext())).rejects.toThrow("code is run for a node's model alone");
  });
});
