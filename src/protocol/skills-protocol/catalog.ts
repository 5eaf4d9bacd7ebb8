import type { Workspace } from "../../app/host.ts";
import { allSkills } from "../../app/skills/states.ts";
import type { SkillEntry } from "../../app/workspace.ts";
import { RpcError } from "./json-rpc.ts";

export interface ServedSkill {
  readonly name: string;
  /** `0.0.0` if the skill's format has no versions. */
  readonly version: string;
  readonly namespace: string;
  readonly kind: "action" | "instruction";
  readonly entry: SkillEntry;
}

export type Catalog = Awaited<ReturnType<typeof openCatalog>>;

const UNVERSIONED = "0.0.0";

export async function openCatalog(workspace: Workspace) {
  const { skills } = workspace;
  const served = (await allSkills(workspace)).map(serve);
  const byName = new Map(served.map((skill) => [skill.name, skill]));
  return {
    /** Latest version of each skill, sorted by name in code units. */
    skills: served,
    has: (name: string) => byName.has(name),
    /** Finds exactly this version, by default the latest. Throws if there is no such skill or version. */
    async find(name: string, version?: string): Promise<ServedSkill> {
      const latest = byName.get(name);
      if (!latest) throw new RpcError(-32001, "SkillNotFound", `there is no skill ${name}`);
      if (version === undefined || version === latest.version) return latest;
      const other = skills.versions(name).includes(version) ? await skills.find(`${name}@${version}`) : undefined;
      if (other?.skill.version === version) return serve(other);
      throw new RpcError(-32002, "VersionNotFound", `skill ${name} has no version ${version}`);
    },
  };
}

function serve(entry: SkillEntry): ServedSkill {
  const { skill } = entry;
  return {
    name: skill.id,
    version: skill.version ?? UNVERSIONED,
    namespace: entry.package?.namespace ?? skill.id.split(".")[0] ?? skill.id,
    kind: entry.kind === "instruction" ? "instruction" : "action",
    entry,
  };
}

/**
 * Checks whether a skill is in a namespace. Compares whole segments: `sales` contains `sales.leads`, not `salesforce`.
 * A namespace in the manifest overrides the name's prefix.
 */
export function isInNamespace({ name, namespace }: ServedSkill, wanted: string): boolean {
  const place = isBelow(name, namespace) ? name : namespace;
  return isBelow(place, wanted);
}

function isBelow(name: string, namespace: string): boolean {
  return name === namespace || name.startsWith(`${namespace}.`);
}
