import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SkillflowError } from "../../../src/core/base/errors.ts";
import type { JsonObject } from "../../../src/core/base/values.ts";
import { codeSkill } from "../../../src/loaders/own/code.ts";
import { openSkillSet } from "../../../src/loaders/registry/open.ts";
import type { SkillSet } from "../../../src/loaders/registry/skill-set.ts";
import { toolContext } from "../../../src/testing.ts";
import { foreignHost, makeFolder } from "../foreign.ts";

/** Runs code in the way another skill would run it. */
function runner(directory: string, runForeign: typeof foreignHost.runForeign, trust: string[] = []) {
  const set: SkillSet = openSkillSet({
    builtin: join(directory, "builtin"),
    own: [{ skill: codeSkill(() => set), unavailable: undefined }],
    levels: [{ kind: "project", path: join(directory, "own"), trusted: false, root: directory }],
    servers: new Map(),
    disabled: [],
    trust: { ids: new Set(trust), remembered: [] },
    variables: new Map(),
    overrides: new Map(),
    env: {},
    host: { ...foreignHost, runForeign },
  });
  return (wanted: JsonObject) =>
    set.host.invoke({ skill: "code", arguments: { language: "python", ...wanted } }, toolContext());
}
const noSandbox = async () => {
  throw new SkillflowError("sandbox.missing", "python3 was not run", { hint: "install bubblewrap" });
};

describe("code that a model wrote", () => {
  test("fails with what to install if there is no sandbox", async () => {
    const failed = runner(makeFolder(), noSandbox)({ code: "x" });
    await expect(failed).rejects.toThrow("SandboxError: python3 was not run; install bubblewrap");
  });

  test("has a time limit of ten minutes, whatever it requests", async () => {
    const waits: number[] = [];
    const run = runner(makeFolder(), async ({ limits }) => {
      waits.push(limits.wallMs);
      return noSandbox();
    });
    for (const limits of [{}, { timeout_ms: 5 }, { timeout_ms: 1e15 }] as JsonObject[]) {
      await run({ code: "x", limits }).catch(() => undefined);
    }
    expect(waits).toEqual([60_000, 5, 600_000]);
  });

  test("imports no package of an untrusted place, also if that holds no program", async () => {
    const manifest = 'name = "a.guide"\nversion = "1.0.0"\ndescription = "d"\nkind = "instruction"\n';
    const document = "---\nname: Guide\nshort_description: d\n---\nRead.";
    const folder = makeFolder({ "own/guide/skill.toml": manifest, "own/guide/SKILL.md": document });
    const wanted = { code: "x", mount_skills: ["a.guide"] };
    await expect(runner(folder, noSandbox)(wanted)).rejects.toThrow("it is not trusted");
    await expect(runner(folder, noSandbox, ["a.guide"])(wanted)).rejects.toThrow("python3 was not run");
  });
});
