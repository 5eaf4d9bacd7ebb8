import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SkillLevel } from "../../../src/loaders/folder/format.ts";
import { recordSkill } from "../../../src/loaders/registry/entry.ts";
import { knownSkills, openSkillSet } from "../../../src/loaders/registry/open.ts";
import type { SkillSet } from "../../../src/loaders/registry/skill-set.ts";
import { chooseVersion, listVersions, type Versioned } from "../../../src/loaders/registry/versions.ts";
import { toolContext } from "../../../src/testing.ts";
import { foreignHost, makeFolder } from "../foreign.ts";

describe("of the versions of one id", () => {
  const layer = (priority: number, version?: string): Versioned => ({
    priority,
    loaded: { skill: version === undefined ? {} : { version } },
  });
  const levels = (high: readonly (string | undefined)[], low: readonly (string | undefined)[] = []) => [
    ...high.map((version) => layer(20, version)),
    ...low.map((version) => layer(10, version)),
  ];

  it.each<[string, Versioned[], string | undefined, string | undefined]>([
    ["the highest is the latest", levels(["1.2.0", "1.10.0", "1.9.0"]), undefined, "1.10.0"],
    ["a pre-release is not the latest", levels(["1.0.0", "2.0.0-beta.1"]), undefined, "1.0.0"],
    [
      "a pre-release is the latest where nothing else is",
      levels(["2.0.0-beta.1", "2.0.0-beta.2"]),
      undefined,
      "2.0.0-beta.2",
    ],
    ["the highest level counts before the highest version", levels(["1.0.0"], ["3.0.0"]), undefined, "1.0.0"],
    ["one of no version comes last in its level", levels([undefined, "0.1.0"]), undefined, "0.1.0"],
    ["an exact one is that one", levels(["1.0.0", "1.2.0", "2.0.0"]), "1.2.0", "1.2.0"],
    ["a range takes its highest", levels(["1.1.0", "1.2.0", "1.9.9", "2.0.0"]), "^1.2", "1.9.9"],
    ["a range looks at lower levels too", levels(["1.0.0"], ["2.0.0"]), "^2", "2.0.0"],
    ["a range takes the highest level that has one", levels(["1.0.0"], ["1.5.0"]), "^1", "1.0.0"],
    ["a pre-release is taken when it is named", levels(["1.0.0", "2.0.0-beta.1"]), "2.0.0-beta.1", "2.0.0-beta.1"],
    ["a range passes over pre-releases", levels(["1.0.0", "1.1.0-rc.1"]), "^1", "1.0.0"],
    ["what fits nothing is nothing", levels(["1.0.0"]), "^9", undefined],
    ["an invalid range matches nothing", levels(["1.0.0"]), "newest please", undefined],
  ])("%s", (_, layers, range, version) => {
    expect(chooseVersion(layers, range).winner?.loaded.skill.version).toBe(version);
  });

  it("all are listed newest first, each once", () => {
    expect(listVersions(levels(["1.2.0", "1.10.0", "2.0.0-a"], ["1.2.0", undefined]))).toEqual([
      "2.0.0-a",
      "1.10.0",
      "1.2.0",
    ]);
  });
});

describe("a set with versions", () => {
  it("finds the latest, an exact one and one in a range", async () => {
    const set = open({ high: ["1.0.0", "1.2.5", "2.1.0", "3.0.0-rc.1"] });
    const version = async (reference: string) => (await set.find(reference))?.skill.version;
    expect(await version("notes.read")).toBe("2.1.0");
    expect(await version("notes.read@1.0.0")).toBe("1.0.0");
    expect(await version("notes.read@^1.2")).toBe("1.2.5");
    expect(await version("notes.read@3.0.0-rc.1")).toBe("3.0.0-rc.1");
    expect(await version("notes.read@^4")).toBeUndefined();
    expect(set.versions("notes.read")).toEqual(["3.0.0-rc.1", "2.1.0", "1.2.5", "1.0.0"]);
    expect(set.versions("nothing")).toEqual([]);
    expect([...set.ids]).toEqual(["notes.read"]);
  });

  it("reports nothing about versions that are side by side at one level", () => {
    expect(open({ high: ["1.0.0", "2.0.0"] }).diagnostics).toEqual([]);
  });

  it("reports which of two equal versions is used, and that a higher level overrides", () => {
    const set = open({ high: ["1.0.0", "1.0.0"], low: ["1.5.0"] });
    expect(set.diagnostics.map(({ code }) => code)).toEqual(["SKILL_SHADOWED", "SKILL_SHADOWED"]);
    expect(set.diagnostics[0]?.message).toMatch(/high\/0.* shadows .*high\/1/);
    expect(set.diagnostics[1]?.message).toMatch(/high\/0.* shadows .*low\/0/);
  });

  it("lists the lower skills that a skill shadows, not its other versions", async () => {
    const entry = await open({ high: ["1.0.0", "2.0.0"], low: ["1.5.0"] }).find("notes.read");
    expect(entry?.shadows.map((path) => path.split("/").slice(-2).join("/"))).toEqual(["low/0"]);
  });

  it("records the reference of the node, so that its tools are found by it", async () => {
    const set = open({ high: ["1.0.0", "2.0.0"] });
    const record = recordSkill("notes.read@^1", await set.find("notes.read@^1"));
    expect(record).toMatchObject({ id: "notes.read@^1", available: true });
    expect(record.tools).toMatchObject([{ skill: "notes.read@^1", name: "notes.read", exposed: "notes_read" }]);
    expect(recordSkill("notes.read@^7", undefined)).toMatchObject({
      available: false,
      reason: "no version of the skill notes.read matches ^7",
    });
  });

  it("knows references that match a version, and no others", () => {
    const known = knownSkills(open({ high: ["1.0.0"] }));
    const has = ["notes.read", "notes.read@1", "notes.read@^2", "other", "other@1"].map((name) => known.has(name));
    expect(has).toEqual([true, true, false, false, false]);
    expect([...known]).toEqual(["notes.read"]);
  });

  it("calls the requested version", async () => {
    const set = open({ high: ["1.0.0", "2.0.0"] });
    const answers = await Promise.all(["notes.read@1", "notes.read"].map((name) => callOnly(set, name)));
    expect(answers).toEqual([{ from: "1.0.0" }, { from: "2.0.0" }]);
  });

  it("has a digest for each version", () => {
    const set = open({ high: ["1.0.0", "2.0.0"] }, false);
    const references = ["notes.read@1", "notes.read@2", "notes.read"];
    const digests = references.map((name) => set.withheld(name)?.parts[0]?.digest());
    expect(digests[0]).not.toBe(digests[1]);
    expect(digests[2]).toBe(digests[1]);
  });
});

async function callOnly(set: SkillSet, reference: string) {
  const tool = (await set.find(reference))?.skill.tools[0];
  return tool?.handler({} as never, toolContext({ workDir: makeFolder() }));
}

/** Contracts of one id, each of which answers with its version. */
function open(
  versions: { readonly high: readonly string[]; readonly low?: readonly string[] },
  trusted = true,
): SkillSet {
  const files = Object.entries(versions).flatMap(([level, list]) =>
    list.flatMap((version, index) => [
      [
        `${level}/${index}/contract.json`,
        {
          id: "notes.read",
          version,
          description: "Reads notes.",
          input: { type: "object" },
          output: { type: "object" },
          metadata: { side_effects: false },
        },
      ],
      [`${level}/${index}/binding.yml`, "function: ./read.mjs#read"],
      [`${level}/${index}/read.mjs`, `export const read = () => ({ from: "${version}" });`],
    ]),
  );
  const directory = makeFolder(Object.fromEntries(files));
  const { env, invoke: _, ...host } = foreignHost;
  return openSkillSet({
    builtin: join(directory, "builtin"),
    levels: ["high", "low"].map(
      (name): SkillLevel => ({ kind: "project", path: join(directory, name), trusted, root: directory }),
    ),
    own: [],
    servers: new Map(),
    disabled: [],
    trust: { ids: new Set(), remembered: [] },
    variables: new Map(),
    overrides: new Map(),
    env,
    host,
  });
}
