import { existsSync } from "node:fs";
import type { Diagnostic } from "../core/base/diagnostic.ts";
import { messageOf } from "../core/base/errors.ts";
import { plainLine } from "../core/base/inert.ts";
import { setTimeBound } from "../core/base/schema/time-bound.ts";
import { defined, lazy, nearest } from "../core/base/values.ts";
import type { ProjectConfig } from "../core/document/config.ts";
import type { Workflow } from "../core/document/workflow/workflow.ts";
import type { RecordedOption } from "../core/engine/event/record.ts";
import skillVariables from "../core/skill/skill-variables.json" with { type: "json" };
import { ownPath } from "../files/own-files.ts";
import { loadPolicies } from "../loaders/documents/policy.ts";
import { isInCheckout, loadUserConfig, projectRoot } from "../loaders/documents/project-config.ts";
import type { SkillLevel } from "../loaders/folder/format.ts";
import { sweepTemporaries } from "../loaders/folder/temporary-folders.ts";
import { askAgent } from "../loaders/formats/contract/agent-call.ts";
import { mcpCaller } from "../loaders/mcp/call.ts";
import { codeSkill } from "../loaders/own/code.ts";
import { toolMakerSkill } from "../loaders/own/tool-maker.ts";
import { workspaceSkill } from "../loaders/own/workspace/skill.ts";
import { openSkillSet } from "../loaders/registry/open.ts";
import type { InlineSkills, SkillEntry, SkillSet } from "../loaders/registry/skill-set.ts";
import { loadExtendedConfig } from "../loaders/sources/extends.ts";
import {
  readTrustMemory,
  type TrustEntry,
  type TrustMemory,
  trustMemoryPath,
  rememberTrust as writeTrust,
} from "../loaders/trust/trust-memory.ts";
import { createTimeBound } from "../sandbox/time-bound.ts";
import { documentsOf, type Host, hintText, processesOf, type Workspace, type WorkspaceOptions } from "./host.ts";
import { importing } from "./runs/stray.ts";
import { cannotCount, chooseSkills, type NamedSkill, type SkillChoices } from "./skills/choices.ts";

export { nearFile } from "../loaders/documents/document-text.ts";
export type { InlineSkills, SkillEntry, TrustEntry };

import { openRunners } from "./adapters/sandboxes.ts";
import { openState } from "./adapters/states.ts";
import { openStore } from "./adapters/stores.ts";
import { keptPlaces, missingFolders, skillLevels } from "./skills/levels.ts";

export function openWorkspace(given: Host, options: WorkspaceOptions): Workspace {
  const named = [given.namedPolicy, given.env.SKILLFLOW_POLICY];
  const host = { ...given, policies: loadPolicies({ cwd: given.cwd, named, machine: given.machinePolicy }) };
  sweepTemporaries(host);
  boundTime();
  const user = loadUserConfig(host.env);
  const trustsUser = user === undefined || !isInCheckout(user.path, host.cwd);
  const operator = trustsUser ? (user?.config ?? {}) : {};
  const project = loadExtendedConfig(documentsOf(host), {
    ...{ env: host.env, offline: options.offline },
    ...{ checkout: host.cwd, hosts: operator.fetch?.hosts ?? [] },
  });
  const choices = chooseSkills(options.skillFlags ?? {}, host.env, {
    project,
    user,
    memory: readMemory(host),
    trustsUser,
    onlyPinned: host.documents?.isForeign === true,
  });
  const levels = skillLevels(host, options, { project, user, trustsUser, choices });
  const opened = openStore(host, options.store);
  const { storeDirectory } = opened;
  const overrides = new Map([...copySettings(host, operator, options.overrides), ...options.overrides]);
  const found = findSkills(host, { ...options, overrides }, { choices, levels, storeDirectory });
  const refused = [...choices.findings, ...untrustedServers(choices, found)];
  const raises = { severity: "warning", code: "CONFIG_RAISES_TRUST", path: [] } as const;
  const findings = [...refused.map((message) => ({ ...raises, message })), ...missingFolders(levels)];
  const skills = { ...found, diagnostics: [...findings, ...found.diagnostics] };
  const root = projectRoot(host.cwd);
  return {
    host,
    root,
    project,
    user,
    operator,
    skills,
    choices,
    ...opened,
    state: openState(host, options.state, { queue: opened.queue, offline: options.offline }),
    models: options.models ?? new Map(),
    overrides: options.overrides,
    again: optionsAgain(host, options),
  };
}

/** Returns the settings of the skill workspace in the user's own file that the environment does not set. */
function copySettings(
  { env }: Host,
  { workspace = {} }: ProjectConfig,
  overrides: ReadonlyMap<string, string>,
): (readonly [string, string])[] {
  return Object.entries(workspace).flatMap(([key, value]) => {
    const variable = `WORKSPACE_${key.toUpperCase()}`;
    const isSet = [key, variable, `workspace.${variable}`].some((name) => overrides.has(name));
    if (value === undefined || key === "test" || env[variable] !== undefined || isSet) return [];
    return [[`workspace.${key}`, typeof value === "string" ? value : value.join("\n")] as const];
  });
}

function findSkills(
  host: Host,
  options: WorkspaceOptions,
  {
    choices,
    levels,
    storeDirectory,
  }: Pick<Workspace, "choices" | "storeDirectory"> & { levels: readonly SkillLevel[] },
): SkillSet {
  const keep = () => [...keptPlaces(host, levels), ...(storeDirectory ? [storeDirectory] : []), ...found.folders];
  const toolMaker = hintText(host, [{ option: "allow-define-tool" }]);
  const disabled = { kind: "disabled", reason: `needs ${toolMaker}`, fix: `pass ${toolMaker}` } as const;
  const found: SkillSet = openSkillSet({
    write: host.writeOption,
    builtin: ownPath("skills", "skills"),
    given: options.given ?? [],
    own: [
      { skill: codeSkill(() => found), unavailable: undefined },
      { skill: workspaceSkill(host.env), unavailable: undefined },
      { skill: toolMakerSkill(), unavailable: choices.defineTool ? undefined : disabled },
    ],
    levels,
    ...choices,
    ...defined("policies", host.policies),
    overrides: options.overrides,
    env: host.env,
    host: {
      cwd: host.cwd,
      documents: host.documents?.folder,
      self: host.self,
      atExit: host.atExit,
      options: choices.formats,
      ...openRunners(host),
      ...(options.writableWorkdir ? { writable: { keep } } : {}),
      nodePath: host.execPath,
      callMcp: mcpCaller(processesOf(host)),
      askAgent,
    },
  });
  return host.note ? noting(found, host.note) : found;
}

/** Reports errors that an imported module throws outside of every call, instead of ending the command. */
function noting(skills: SkillSet, note: (line: string) => void): SkillSet {
  return {
    ...skills,
    find(reference, inline) {
      const tell = (error: unknown) =>
        note(`skill ${plainLine(reference)}: an error outside of a call: ${plainLine(messageOf(error))}`);
      return importing(tell, () => skills.find(reference, inline));
    },
  };
}

/** Sets the time limit once per process, because all workspaces share its thread. */
const boundTime = lazy(() => setTimeBound(createTimeBound()));

/** Reports servers of the checkout's config files that the user has not allowed. */
function untrustedServers({ servers }: SkillChoices, skills: SkillSet): string[] {
  return [...servers].flatMap(([id, { path, config, trusted }]) => {
    if (trusted || skills.withheld(id) === undefined) return [];
    return [cannotCount(path, `mcpServers.${id}.${config.command === undefined ? "url" : "command"}`)];
  });
}

/** Saves the user's answers next to their own config file and returns its path. */
export async function rememberTrust({ host }: Workspace, entries: readonly TrustEntry[]): Promise<string> {
  const path = trustMemoryPath(host.env);
  if (path !== undefined && isInCheckout(path, host.cwd)) throw new Error(`${path} is in the checkout`);
  return writeTrust(host.env, entries);
}

/** Reads the saved answers, but ignores a file in the checkout: an untrusted author may have written it. */
function readMemory({ env, cwd }: Host): TrustMemory {
  const path = trustMemoryPath(env);
  if (path === undefined || !existsSync(path) || !isInCheckout(path, cwd)) return readTrustMemory(env);
  return { entries: [], findings: [`${path} is ignored, because it is in the checkout`] };
}

/** Returns the config files: the command's own, the project's, the user's. Earlier ones override later ones. */
export function configFiles(workspace: Pick<Workspace, "nearest" | "project" | "user">): readonly ProjectConfig[] {
  const { nearest: own, project, user } = workspace;
  return [...(own ? [own] : []), ...[project, user].flatMap((file) => (file ? [file.config] : []))];
}

/** Returns findings about config files and flags, but not about single skills. */
export function configFindings({ skills }: Workspace): readonly Diagnostic[] {
  return skills.diagnostics.filter(({ code }) => CONFIG_CODES.has(code));
}

const CONFIG_CODES: ReadonlySet<string> = new Set([
  "CONFIG_RAISES_TRUST",
  "MODULE_NOT_FOUND",
  "SKILLS_FOLDER_NOT_FOUND",
  "VARIABLE_REFUSED",
]);

/**
 * Reports unknown skill ids in flags and variables, with suggestions.
 * Workflows can declare skills, so before they are known only ids with a suggestion are reported.
 */
export function unknownSkills(
  workspace: Workspace,
  workflows: readonly (Workflow | undefined)[] | undefined,
): Diagnostic[] {
  const { host, skills, choices } = workspace;
  const known = new Set([
    ...skills.ids,
    ...(workflows ?? []).flatMap((workflow) => Object.keys(workflow?.skills ?? {})),
  ]);
  const isUnknown = ({ id }: NamedSkill) =>
    !known.has(id) && (workflows !== undefined || nearest(id, known) !== undefined);
  const told = choices.named.filter(isUnknown).map(({ by, id }) => unknownName(hintText(host, by), id, "id", known));
  return [...told, ...unknownKeys(workspace, known)];
}

function unknownName(by: string, name: string, what: "id" | "config key", known: Iterable<string>): Diagnostic {
  const near = nearest(name, known);
  const message = `${by} ${name}: no skill has this ${what}${near === undefined ? "" : ` (did you mean ${near}?)`}`;
  return { severity: "warning", code: "SKILL_NAMED_UNKNOWN", path: [], message };
}

/** Reports misspelled keys and ids of `--set`. A key that resembles no other may be one that a server's skill has. */
function unknownKeys({ host, skills, overrides }: Workspace, ids: ReadonlySet<string>): Diagnostic[] {
  if (overrides.size === 0) return [];
  const keys = new Set([...Object.values(skillVariables).flat(), ...skills.keys()]);
  const by = hintText(host, [{ option: "set" }]);
  return [...overrides.keys()].flatMap((name) => {
    const dot = name.lastIndexOf(".");
    const id = name.slice(0, Math.max(dot, 0)).replace(/@[a-z\d-]*$/, "");
    if (id !== "" && !ids.has(id) && nearest(id, ids) !== undefined) return unknownName(by, id, "id", ids);
    const key = name.slice(dot + 1);
    const isUnknown = !keys.has(key) && !keys.has(name) && nearest(key, keys) !== undefined;
    return isUnknown ? unknownName(by, key, "config key", keys) : [];
  });
}

/** Returns the root of the repository, or otherwise the working directory. */
export function projectFolder({ cwd }: Pick<Host, "cwd">): string {
  return projectRoot(cwd);
}

/** Returns the options to repeat when the run continues. Omits trust, and `--set` values, which may be secret. */
function optionsAgain({ envFrom }: Pick<Host, "envFrom">, options: WorkspaceOptions): RecordedOption[] {
  const { skillFlags, store } = options;
  const given: readonly (readonly [RecordedOption["name"], string | boolean | undefined])[] = [
    ["env-from", envFrom],
    ...[...options.overrides.keys()].map((key) => ["set", `${key}=VALUE`] as const),
    ...options.skillDirs.map((folder) => ["skills", folder] as const),
    ["no-discover", !options.discover],
    ...(skillFlags?.skillEnv ?? []).map((pair) => ["skill-env", pair.join("=")] as const),
    ...(skillFlags?.effect ?? []).map((pair) => ["effect", pair.join("=")] as const),
    ["skill-order", skillFlags?.skillOrder],
    ["allow-scripts", skillFlags?.allowScripts],
    ["allow-define-tool", skillFlags?.allowDefineTool],
    ["writable-workdir", options.writableWorkdir],
    ["store", typeof store === "string" ? store : undefined],
    ["engine", typeof store === "object" && "engine" in store ? store.engine : undefined],
    ["state", typeof options.state === "string" ? options.state : undefined],
    ["offline", options.offline],
  ];
  return given.flatMap(([name, value]): RecordedOption[] => {
    if (value === undefined || value === false) return [];
    return [value === true ? { name } : { name, value }];
  });
}
