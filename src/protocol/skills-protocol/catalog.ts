import type { Workspace } from "../../app/host.ts";
import { allSkills } from "../../app/skills/states.ts";
import type { SkillEntry } from "../../app/workspace.ts";
import { RpcError } from "./json-rpc.ts";

/** The skills of a project as they are served: found once, in the order of their names. */

export interface ServedSkill {
  readonly name: string;
  /** `0.0.0` where its format has no versions. */
  readonly version: string;
  readonly namespace: string;
  readonly kind: "action" | "instruction";
  readonly entry: SkillEntry;
}

export interface Catalog {
  /** The latest version of each, sorted by name, code unit by code unit. */
  readonly skills: readonly ServedSkill[];
  has(name: string): boolean;
  /** The latest version unless told, exactly; throws when there is none of that name or version. */
  find(name: string, version?: string): Promise<ServedSkill>;
}

const UNVERSIONED = "0.0.0";

export async function openCatalog(workspace: Workspace): Promise<Catalog> {
  const { skills } = workspace;
  const served = (await allSkills(workspace)).map(serve);
  const byName = new Map(served.map((skill) => [skill.name, skill]));
  return {
    skills: served,
    has: (name) => byName.has(name),
    async find(name, version) {
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
 * Whole segments only: `sales` holds `sales` and `sales.leads`, not `salesforce`. Where a manifest names another
 * namespace than its name begins with, that one counts.
 */
export function isInNamespace({ name, namespace }: ServedSkill, wanted: string): boolean {
  const place = isBelow(name, namespace) ? name : namespace;
  return isBelow(place, wanted);
}

function isBelow(name: string, namespace: string): boolean {
  return name === namespace || name.startsWith(`${namespace}.`);
}
