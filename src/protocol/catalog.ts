import type { Project, SkillEntry } from "../project.ts";
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
  /** The latest version unless told; throws when there is none of that name or version. */
  find(name: string, version?: string): Promise<ServedSkill>;
}

const UNVERSIONED = "0.0.0";

export async function openCatalog({ skills }: Project): Promise<Catalog> {
  const names = [...skills.ids].sort((a, b) => (a < b ? -1 : 1));
  const entries = await Promise.all(names.map((name) => skills.find(name)));
  const served = entries.flatMap((entry) => (entry ? [serve(entry)] : []));
  const byName = new Map(served.map((skill) => [skill.name, skill]));
  return {
    skills: served,
    async find(name, version) {
      const latest = byName.get(name);
      if (!latest) throw new RpcError(-32001, "SkillNotFound", `there is no skill ${name}`);
      if (version === undefined || version === latest.version) return latest;
      const other = await skills.find(`${name}@${version}`);
      if (other?.skill.version !== undefined) return serve(other);
      throw new RpcError(-32002, "VersionNotFound", `skill ${name} has no version ${version}`);
    },
  };
}

function serve(entry: SkillEntry): ServedSkill {
  const { skill, frontmatter } = entry;
  const namespace = frontmatter?.namespace;
  return {
    name: skill.id,
    version: skill.version ?? UNVERSIONED,
    namespace: typeof namespace === "string" ? namespace : (skill.id.split(".")[0] ?? skill.id),
    kind: entry.kind === "instruction" ? "instruction" : "action",
    entry,
  };
}

/** Whole segments only: `sales` holds `sales` and `sales.leads`, not `salesforce`. */
export function isInNamespace(skill: ServedSkill, namespace: string): boolean {
  return [skill.namespace, skill.name].some((name) => name === namespace || name.startsWith(`${namespace}.`));
}
