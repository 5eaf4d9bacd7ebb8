import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "./core/config.ts";
import type { ProcessMark } from "./core/ports.ts";
import type { Workflow } from "./core/workflow.ts";
import { type LoadedConfig, loadProjectConfig, loadUserConfig, projectRoot } from "./loaders/project-config.ts";
import { openSkillSet, type SkillEntry, type SkillLevel, type SkillSet } from "./loaders/skill-set.ts";
import { type LoadedWorkflow, loadWorkflow } from "./loaders/workflow-file.ts";

export type { SkillEntry };

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
  readonly project: LoadedConfig | undefined;
  readonly user: LoadedConfig | undefined;
  readonly skills: SkillSet;
  readonly storeDirectory: string;
  readonly overrides: ReadonlyMap<string, string>;
}

export interface ProjectOptions {
  readonly overrides: ReadonlyMap<string, string>;
  readonly skillDirs: readonly string[];
  readonly discover: boolean;
  readonly store: string | undefined;
}

export function openProject(host: Host, options: ProjectOptions): Project {
  const project = loadProjectConfig(host.cwd);
  const user = loadUserConfig(host.env);
  const configs = [project, user].filter((config) => config !== undefined);
  const discover = options.discover && (project ?? user)?.config.skills?.discover !== false;
  const skills = openSkillSet({
    builtin: builtinSkills(),
    levels: skillLevels(host, options, configs, discover),
    disabled: configs.flatMap(({ config }) => config.skills?.disabled ?? []),
    overrides: options.overrides,
    env: host.env,
  });
  const storeDirectory = resolve(host.cwd, options.store ?? join(".skillflow", "runs"));
  return { host, project, user, skills, storeDirectory, overrides: options.overrides };
}

/** Beside the program once built, beside its sources before. */
function builtinSkills(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  return [join(here, "skills"), join(here, "..", "skills")].find((path) => existsSync(path)) ?? join(here, "skills");
}

const PROJECT_FOLDERS = [".skillflow", ".sweny", ".claude", ".agents", ".gemini", ".opencode"];

function skillLevels(
  host: Host,
  options: ProjectOptions,
  configs: readonly LoadedConfig[],
  discover: boolean,
): readonly SkillLevel[] {
  const extra = [
    ...options.skillDirs.map((path) => resolve(host.cwd, path)),
    ...configs.flatMap(({ directory, config }) =>
      (config.skills?.extraDirs ?? []).map((path) => resolve(directory, path)),
    ),
  ];
  const root = projectRoot(host.cwd);
  const inProject = [...PROJECT_FOLDERS.map((folder) => join(root, folder, "skills")), join(root, "skills")];
  const home = host.env.HOME;
  const inHome = home && home !== root ? PROJECT_FOLDERS.map((folder) => join(home, folder, "skills")) : [];
  return [
    ...extra.map((path): SkillLevel => ({ kind: "extra", path })),
    ...(discover ? inProject.map((path): SkillLevel => ({ kind: "project", path })) : []),
    ...(discover ? inHome.map((path): SkillLevel => ({ kind: "user", path })) : []),
  ];
}

/** A workflow document and everything that is wrong with it. */
export function readWorkflow({ host, skills }: Project, file: string): LoadedWorkflow {
  return loadWorkflow(resolve(host.cwd, file), skills.ids, file);
}

/** By id; undefined where nobody declares the id. */
export type SkillEntries = ReadonlyMap<string, SkillEntry | undefined>;

/** The skills that a workflow refers to, in the order of its nodes; undefined where nobody declares the id. */
export async function gatherSkills(set: SkillSet, workflow: Workflow): Promise<SkillEntries> {
  const ids = new Set(Object.values(workflow.nodes).flatMap((node) => node.skills ?? []));
  const found = await Promise.all([...ids].map(async (id) => [id, await set.find(id, workflow.skills)] as const));
  return new Map(found);
}
