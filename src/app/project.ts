import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import type { Environment, ProjectConfig } from "../core/config.ts";
import type { RunChoices } from "../core/engine/settings.ts";
import type { Diagnostic } from "../core/errors.ts";
import type { ProcessMark } from "../core/ports.ts";
import type { Sandbox } from "../core/sandbox.ts";
import { setTimeBound } from "../core/schema/time-bound.ts";
import { parseSkillReference } from "../core/skill-reference.ts";
import { nearest } from "../core/values.ts";
import type { Workflow } from "../core/workflow.ts";
import type { LoaderHost } from "../loaders/folder/host.ts";
import type { SkillLevel } from "../loaders/folder/level.ts";
import { sweepTemporaries } from "../loaders/folder/temporary-folders.ts";
import { askAgent } from "../loaders/formats/contract/agent-call.ts";
import { mcpCaller } from "../loaders/mcp/call.ts";
import type { Processes } from "../loaders/mcp/process.ts";
import { codeSkill } from "../loaders/own/code.ts";
import { toolMakerSkill } from "../loaders/own/tool-maker.ts";
import {
  isInCheckout,
  isUsersOwn,
  type LoadedConfig,
  loadProjectConfig,
  loadUserConfig,
  projectRoot,
  userConfigPath,
} from "../loaders/project-config.ts";
import { knownSkills, openSkillSet } from "../loaders/registry/open.ts";
import type { InlineSkills, SkillEntry, SkillSet } from "../loaders/registry/skill-set.ts";
import type { Withheld } from "../loaders/registry/withheld.ts";
import { checkFiles } from "../loaders/sources.ts";
import {
  readTrustMemory,
  type TrustEntry,
  type TrustMemory,
  trustMemoryPath,
  rememberTrust as writeTrust,
} from "../loaders/trust-memory.ts";
import { type LoadedWorkflow, loadWorkflow, placeFindings } from "../loaders/workflow-file.ts";
import { ownPath, packagePath } from "../own-files.ts";
import { followProcess } from "../sandbox/processes.ts";
import { createTimeBound } from "../sandbox/time-bound.ts";
import {
  cannotCount,
  chooseSkills,
  type NamedSkill,
  NO_FLAGS,
  type SkillChoices,
  type SkillFlags,
} from "./skill-choices.ts";

export { nearFile } from "../loaders/near-file.ts";
export type { InlineSkills, SkillEntry, TrustEntry };

/** What a program knows of the world around it; the command line takes it from its process. */
export interface Host {
  readonly env: Environment;
  /** Absolute. */
  readonly cwd: string;
  readonly self: ProcessMark;
  readonly isAlive: (mark: ProcessMark) => boolean;
  /** The Node program that runs us. */
  readonly execPath: string;
  /** Undefined where users have no number (Windows). */
  readonly uid: number | undefined;
  /** Sends a signal to a process, or to a group by its negative id; one that is gone is no error. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
}

/** Choices that every command shares. */
export interface Project {
  readonly host: Host;
  /** The root of the project that the working directory belongs to. */
  readonly root: string;
  readonly project: LoadedConfig | undefined;
  readonly user: LoadedConfig | undefined;
  /** What the user's own file says where it raises trust: nothing, where it lies in the checkout. */
  readonly operator: ProjectConfig;
  readonly skills: SkillSet;
  readonly choices: SkillChoices;
  readonly storeDirectory: string;
  /** What no link may lead the store out of; undefined where the operator named the store. */
  readonly storeRoot: string | undefined;
  readonly overrides: ReadonlyMap<string, string>;
}

export interface ProjectOptions {
  readonly overrides: ReadonlyMap<string, string>;
  readonly skillDirs: readonly string[];
  readonly discover: boolean;
  readonly store: string | undefined;
  /** Absent: nothing was said. */
  readonly skillFlags?: SkillFlags;
  /** Code in the sandbox may write to the working directory. */
  readonly writableWorkdir?: boolean;
}

export function openProject(host: Host, options: ProjectOptions): Project {
  sweepTemporaries(host);
  setTimeBound(createTimeBound());
  const project = loadProjectConfig(host.cwd);
  const user = loadUserConfig(host.env);
  const trustsUser = user === undefined || !isInCheckout(user.path, host.cwd);
  const choices = chooseSkills(options.skillFlags ?? NO_FLAGS, host.env, {
    project,
    user,
    memory: readMemory(host),
    trustsUser,
  });
  const levels = skillLevels(host, options, { project, user, trustsUser, choices });
  const storeDirectory = resolve(host.cwd, options.store ?? join(".skillflow", "runs"));
  const found: SkillSet = openSkillSet({
    builtin: builtinSkills(),
    own: [
      { skill: codeSkill(() => found), unavailable: undefined },
      { skill: toolMakerSkill(), unavailable: choices.defineTool ? undefined : "needs --allow-define-tool" },
    ],
    levels,
    servers: choices.servers,
    disabled: choices.disabled,
    trust: choices.trust,
    variables: choices.variables,
    overrides: options.overrides,
    env: host.env,
    host: {
      cwd: host.cwd,
      self: host.self,
      options: choices.formats,
      ...openRunners(host),
      ...(options.writableWorkdir
        ? { writable: { keep: () => [...keptPlaces(host, levels), storeDirectory, ...found.folders] } }
        : {}),
      nodePath: host.execPath,
      callMcp: mcpCaller(processesOf(host)),
      askAgent,
    },
  });
  const refused = [...choices.findings, ...untrustedServers(choices, found)];
  const findings = [...refused.map(configFinding), ...missingFolders(levels)];
  const skills = { ...found, diagnostics: [...findings, ...found.diagnostics] };
  const root = projectRoot(host.cwd);
  const storeRoot = options.store === undefined ? root : undefined;
  const operator = trustsUser ? (user?.config ?? {}) : {};
  return {
    host,
    root,
    project,
    user,
    operator,
    skills,
    choices,
    storeDirectory,
    storeRoot,
    overrides: options.overrides,
  };
}

function configFinding(message: string): Diagnostic {
  return { severity: "warning", code: "CONFIG_RAISES_TRUST", path: [], message };
}

/** The servers of the checkout's own config files that nobody allowed. */
function untrustedServers({ servers }: SkillChoices, skills: SkillSet): string[] {
  return [...servers].flatMap(([id, { path, config, trusted }]) => {
    if (trusted || skills.withheld(id) === undefined) return [];
    return [cannotCount(path, `mcpServers.${id}.${config.command === undefined ? "url" : "command"}`)];
  });
}

/** Folders that somebody named and that are not there; those that are looked for by custom may be missing. */
function missingFolders(levels: readonly SkillLevel[]): Diagnostic[] {
  const missing = levels.filter(({ kind, path }) => kind === "extra" && !existsSync(path));
  return missing.map(({ path }) => {
    const message = `there is no folder ${path} to look for skills in`;
    return { severity: "warning", code: "SKILLS_FOLDER_NOT_FOUND", path: [], message };
  });
}

/** What MCP servers are ended with. */
export function processesOf({ self, kill, isAlive }: Host): Processes {
  return { self, kill, isAlive: (pid) => isAlive({ ...self, pid, started: "" }), follow: followProcess };
}

/** The sandboxes, opened when something is first run in them. */
function openRunners(host: Host): Pick<LoaderHost, "runProgram" | "runForeign" | "runJavaScript"> {
  const lazily = (open: () => Promise<Sandbox>): Sandbox["run"] => {
    let opened: Promise<Sandbox> | undefined;
    return async (command) => {
      opened ??= open();
      return (await opened).run(command);
    };
  };
  return {
    runProgram: lazily(async () => (await import("../sandbox/process.ts")).processSandbox(host)),
    runForeign: lazily(() => foreignSandbox(host)),
    runJavaScript: async (call) => (await import("../sandbox/quickjs.ts")).runJavaScript(call),
  };
}

async function foreignSandbox(host: Host): Promise<Sandbox> {
  return (await import("../sandbox/choose.ts")).openSandbox(host);
}

/** What runs code of skills on this machine; the name is `missing` where nothing does. */
export async function sandboxName({ host }: Project): Promise<string> {
  return (await foreignSandbox(host)).name;
}

const builtinSkills = (): string => ownPath("skills", "skills");

/** The built-in skills' own sources are no skills of the project that they lie in. */
const OWN_SOURCES = packagePath("skills");

/** Where the guide to the Skills Protocol is: a package as others write them. */
const builtinPackages = (): string => ownPath("guide", "src/protocol/guide");

/** The dotted folders that hold skills, highest first, by the document that counts; `skills/` is the project's alone. */
const FOLDERS: Readonly<Record<SkillChoices["order"], readonly string[]>> = {
  sweny: [".skillflow", ".sweny", ".claude", ".agents", ".gemini", ".opencode", ""],
  "skill-tools": [".agents", ".claude", ".opencode", "", ".skillflow", ".sweny", ".gemini"],
};

interface Said {
  readonly project: LoadedConfig | undefined;
  readonly user: LoadedConfig | undefined;
  readonly trustsUser: boolean;
  readonly choices: SkillChoices;
}

function skillLevels(host: Host, options: ProjectOptions, said: Said): readonly SkillLevel[] {
  const { project, user, trustsUser, choices } = said;
  const root = projectRoot(host.cwd);
  const extra = (path: string, trusted: boolean): SkillLevel => ({ kind: "extra", path, trusted });
  // Of several, a later one overrides an earlier one.
  const extraOf = (file: LoadedConfig | undefined, trusted: boolean) =>
    (file?.config.skills?.extraDirs ?? [])
      .map((path) => extra(resolve(file?.directory ?? ".", path), trusted))
      .reverse();
  const named = [
    ...options.skillDirs.map((path) => extra(resolve(host.cwd, path), false)).reverse(),
    ...extraOf(project, false),
    ...extraOf(user, trustsUser),
    ...choices.modules.map(({ specifier, ...about }): SkillLevel => ({ kind: "module", path: specifier, ...about })),
  ];
  // Before all others: what a client is told to read first is never a checkout's own.
  const packages: SkillLevel = { kind: "builtin", path: builtinPackages(), trusted: true };
  if (!options.discover || (project ?? user)?.config.skills?.discover === false) return [packages, ...named];
  const folders = FOLDERS[choices.order];
  const inProject = folders.map((folder) => join(root, folder, "skills")).filter((path) => path !== OWN_SOURCES);
  const home = host.env.HOME;
  const inHome = home && home !== root ? folders.filter(Boolean).map((folder) => join(home, folder, "skills")) : [];
  const trusted = home !== undefined && !isInCheckout(home, host.cwd);
  return [
    packages,
    ...named,
    ...inProject.map((path): SkillLevel => ({ kind: "project", path, trusted: false, root })),
    ...inHome.map((path): SkillLevel => ({ kind: "user", path, trusted })),
  ];
}

/** Where skills and settings are looked for, there or not: what code writes there would be taken for the operator's. */
function keptPlaces({ cwd, env }: Host, levels: readonly SkillLevel[]): readonly string[] {
  const byCustom = FOLDERS.sweny.map((folder) => join(cwd, folder, "skills"));
  const named = levels.map(({ path, from }) => (isAbsolute(path) ? path : join(from ?? cwd, "node_modules")));
  const config = userConfigPath(env);
  return [...byCustom, ...named, ...(config === undefined ? [] : [dirname(config)])];
}

/** Keeps the answers that a person gave beside their own config file; gives the path. */
export async function rememberTrust({ host }: Project, entries: readonly TrustEntry[]): Promise<string> {
  const path = trustMemoryPath(host.env);
  if (path !== undefined && isInCheckout(path, host.cwd)) throw new Error(`${path} lies in the checkout`);
  return writeTrust(host.env, entries);
}

/** What lies in the checkout may be a stranger's, and raises no trust. */
function readMemory({ env, cwd }: Host): TrustMemory {
  const path = trustMemoryPath(env);
  if (path === undefined || !existsSync(path) || !isInCheckout(path, cwd)) return readTrustMemory(env);
  return { entries: [], findings: [`${path} does not count here, because it lies in the checkout`] };
}

/** What the project's file and the user's own say, the nearer one first. */
export function configFiles({ project, user }: Project): readonly ProjectConfig[] {
  return [project, user].flatMap((file) => (file ? [file.config] : []));
}

/** What is wrong with the files and flags that choose skills, rather than with a skill. */
export function configFindings({ skills }: Project): readonly Diagnostic[] {
  return skills.diagnostics.filter(({ code }) => CONFIG_CODES.has(code));
}

const CONFIG_CODES: ReadonlySet<string> = new Set([
  "CONFIG_RAISES_TRUST",
  "MODULE_NOT_FOUND",
  "SKILLS_FOLDER_NOT_FOUND",
  "VARIABLE_REFUSED",
]);

/**
 * Skills that a flag or a variable names and that nobody declares, with what may have been meant. Workflows declare
 * some themselves; while they are not known, only what is near to a skill is told.
 */
export function unknownSkills(
  { skills, choices }: Project,
  workflows: readonly (Workflow | undefined)[] | undefined,
): Diagnostic[] {
  const known = new Set([
    ...skills.ids,
    ...(workflows ?? []).flatMap((workflow) => Object.keys(workflow?.skills ?? {})),
  ]);
  const isUnknown = ({ id }: NamedSkill) =>
    !known.has(id) && (workflows !== undefined || nearest(id, known) !== undefined);
  return choices.named.filter(isUnknown).map(({ by, id }) => {
    const near = nearest(id, known);
    const message = `${by} ${id}: no skill has this id${near === undefined ? "" : ` (did you mean ${near}?)`}`;
    return { severity: "warning", code: "SKILL_NAMED_UNKNOWN", path: [], message };
  });
}

/** Where the project's own folders are: at the root of its repository, else where the program is run. */
export function projectFolder({ cwd }: Pick<Host, "cwd">): string {
  return projectRoot(cwd);
}

/** The user's own: where their config is, and their skills. */
function ownFolders({ env }: Host): readonly string[] {
  const config = userConfigPath(env);
  const dotted = FOLDERS.sweny.filter(Boolean).flatMap((folder) => (env.HOME ? [join(env.HOME, folder)] : []));
  return config === undefined ? dotted : [...dotted, dirname(config)];
}

/** A workflow document as it was read, with the skills that it brings along. */
export interface ReadWorkflow extends LoadedWorkflow {
  readonly inline: InlineSkills;
}

/** A workflow document and everything that is wrong with it. */
export function readWorkflow({ host, skills }: Project, file: string): ReadWorkflow {
  const path = resolve(host.cwd, file);
  const loaded = loadWorkflow(path, knownSkills(skills), file);
  const inline = { skills: loaded.workflow?.skills, trusted: isUsersOwn(path, host.cwd, ownFolders(host)) };
  const held = loaded.workflow ? withheldSkills(skills, loaded.workflow, inline) : [];
  const about = loaded.workflow ? skillFindings(skills, loaded.workflow, inline) : [];
  const placed = placeFindings(path, [...held, ...about.filter((found) => found.file === undefined)], file);
  const elsewhere = about.filter((found) => found.file !== undefined);
  return { ...loaded, inline, diagnostics: [...loaded.diagnostics, ...placed, ...elsewhere] };
}

/** What a recorded run brings along: whoever wrote it down, it counts as the checkout's (workflow-format D64). */
export function recordedSkills({ skills }: Workflow): InlineSkills {
  return { skills, trusted: false };
}

/** Where the files of Sources may lie: in the document's repository, else its folder, or where the operator says (D63). */
export function sourcePlaces({ cwd }: Host, document: string, { fileRoot, inputSources }: SourceChoices) {
  const baseDir = dirname(document);
  const root = fileRoot === undefined ? undefined : resolve(cwd, fileRoot);
  return {
    baseDir,
    workDir: cwd,
    documentRoot: root ?? projectRoot(baseDir),
    inputRoot: inputSources ? (root ?? cwd) : undefined,
  };
}

type SourceChoices = Pick<RunChoices, "fileRoot" | "inputSources">;

/** What is wrong with the files that a document names as Sources; nothing is fetched. */
export async function sourceFindings(
  { host }: Project,
  file: string,
  workflow: Workflow,
  choices: SourceChoices,
): Promise<Diagnostic[]> {
  const path = resolve(host.cwd, file);
  const places = sourcePlaces(host, path, choices);
  return placeFindings(path, await checkFiles(workflow, { ...places, offline: true, auth: {} }), file);
}

/** What is to be told of the places where its skills are looked for. */
function skillFindings(set: SkillSet, { nodes }: Workflow, inline: InlineSkills): Diagnostic[] {
  const ids = new Set(Object.values(nodes).flatMap(({ skills = [] }) => skills));
  return [...ids].flatMap((id) => set.about(id, inline));
}

/** One for each skill that is held back (trust 6), where the workflow first lists it. */
function withheldSkills(set: SkillSet, workflow: Workflow, inline: InlineSkills): Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  for (const [node, { skills = [] }] of Object.entries(workflow.nodes)) {
    for (const [index, id] of skills.entries()) {
      const withheld = found.has(id) ? undefined : set.withheld(id, inline);
      if (withheld !== undefined) found.set(id, notTrusted(id, withheld, ["nodes", node, "skills", index]));
    }
  }
  return [...found.values()];
}

function notTrusted(reference: string, { reason, remedy }: Withheld, path: Diagnostic["path"]): Diagnostic {
  const { id } = parseSkillReference(reference);
  const message = `skill "${id}": ${reason}`;
  return { severity: "warning", code: "SKILL_NOT_TRUSTED", path, message, hint: remedy };
}

/** By id; undefined where nobody declares the id. */
export type SkillEntries = ReadonlyMap<string, SkillEntry | undefined>;

/** The skills that a workflow refers to, in the order of its nodes; undefined where nobody declares the id. */
export async function gatherSkills(set: SkillSet, workflow: Workflow, inline: InlineSkills): Promise<SkillEntries> {
  const ids = new Set(Object.values(workflow.nodes).flatMap((node) => node.skills ?? []));
  const found = await Promise.all([...ids].map(async (id) => [id, await set.find(id, inline)] as const));
  return new Map(found);
}

/** Skills and those that they call in their turn: whose secrets may be at hand. */
export async function gatherCalled(set: SkillSet, references: Iterable<string>): Promise<SkillEntries> {
  const found = new Map<string, SkillEntry | undefined>();
  const open = [...references];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    const entry = await set.find(next);
    found.set(next, entry);
    open.push(...(entry?.calls ?? []));
  }
  return found;
}

/** All skills whose handlers may run for these: themselves and whom they call. */
export async function reachedSkills(
  set: SkillSet,
  entries: SkillEntries,
): Promise<readonly (SkillEntry | undefined)[]> {
  const called = [...entries.values()].flatMap((entry) => entry?.calls ?? []);
  return [...entries.values(), ...(await gatherCalled(set, called)).values()];
}
