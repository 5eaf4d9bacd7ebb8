import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import { hasCode, SkillflowError } from "../../core/base/errors.ts";
import { type LoadedPolicy, policySchema } from "../../core/document/policy.ts";
import { readSettings } from "./project-config.ts";

const MACHINE = "/etc/skillflow/policy.yml";

interface PolicyPlaces {
  readonly cwd: string;
  /** Files that variables name. They must exist. */
  readonly named: readonly (string | undefined)[];
  /** Replaces the path of the machine's policy. */
  readonly machine?: string | undefined;
}

/** Loads all policies. Throws if one that is named or exists cannot be read, or is invalid. */
export function loadPolicies({ cwd, named, machine = MACHINE }: PolicyPlaces): readonly LoadedPolicy[] {
  const paths = named.flatMap((path) => (path ? [resolve(cwd, path)] : []));
  const missing = paths.find(isAbsent);
  if (missing !== undefined) {
    throw new SkillflowError("config.invalid", `there is no policy ${missing}, which SKILLFLOW_POLICY names`, {
      hint: "create the file (its fields: skillflow schema policy), or unset SKILLFLOW_POLICY",
    });
  }
  const all = new Set([...(isAbsent(machine) ? [] : [machine]), ...paths]);
  return [...all].map((path) => ({ path, policy: readSettings(path, policySchema()) }));
}

/** Checks that a path does not exist. If that cannot be determined, it counts as existing. */
function isAbsent(path: string): boolean {
  try {
    lstatSync(path);
    return false;
  } catch (error) {
    return hasCode(error, "ENOENT", "ENOTDIR");
  }
}
