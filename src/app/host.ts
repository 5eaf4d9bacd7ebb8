import type { Environment, ProjectConfig } from "../core/document/config.ts";
import type { ShortLivedKeys } from "../core/document/model-name.ts";
import type { RecordedOption } from "../core/engine/event/record.ts";
import type { Intake, Model, ProcessMark, RunQueue, StateStore, Store } from "../core/engine/ports.ts";
import type { Skill } from "../core/skill/skill.ts";
import type { LoadedConfig } from "../loaders/documents/project-config.ts";
import type { Processes } from "../loaders/mcp/processes.ts";
import type { SkillSet } from "../loaders/registry/skill-set.ts";
import { followProcess } from "../sandbox/processes.ts";
import type { SkillChoices, SkillFlags } from "./skills/choices.ts";

/** The workflow, config and skills as of a commit, in a folder of their own. */
export interface DocumentsAt {
  /** Stands for the working directory. */
  readonly folder: string;
  readonly commit: string;
  /** Why this one: `--from-ref main`, `the base of pull_request`. */
  readonly by: string;
  /** True if only a record names the commit, and the history that decides does not have it. */
  readonly isForeign: boolean;
  /** The CI event asks for it: the checkout may be an untrusted author's. */
  readonly ofEvent: boolean;
  remove(): void;
}

/** What a program knows of the world around it; the command line takes it from its process. */
export interface Host {
  readonly env: Environment;
  /** Absolute. */
  readonly cwd: string;
  /** The file that `--env-from` names. */
  readonly envFrom?: string;
  /** What stands for it where documents, config and skills are looked for; undefined: it does itself. */
  readonly documents?: DocumentsAt | undefined;
  /** In place of the variables that hold keys of models, which hold the first of them. */
  readonly keys?: ShortLivedKeys | undefined;
  readonly self: ProcessMark;
  readonly isAlive: (mark: ProcessMark) => boolean;
  /** Registers work for the end of the process. */
  readonly atExit?: (work: () => void) => void;
  /** The Node program that runs us. */
  readonly execPath: string;
  /** Undefined where users have no number (Windows). */
  readonly uid: number | undefined;
  /** A line for the person who waits, about what takes a while; undefined where nobody does. */
  readonly note?: (line: string) => void;
  /** Sends a signal to a process, or to a group by its negative id; one that is gone is no error. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
}

/** Where the workflow, the project's config and its skills are looked for. */
export function documentsOf({ cwd, documents }: Pick<Host, "cwd" | "documents">): string {
  return documents?.folder ?? cwd;
}

/** What MCP servers are ended with. */
export function processesOf({ self, kill, isAlive }: Host): Processes {
  return { self, kill, isAlive: (pid) => isAlive({ ...self, pid, started: "" }), follow: followProcess };
}

/** Choices that every command shares. */
export interface Workspace {
  readonly host: Host;
  /** The root of the project that the working directory belongs to. */
  readonly root: string;
  readonly project: LoadedConfig | undefined;
  readonly user: LoadedConfig | undefined;
  /** What a file that a command is about says of its runs. */
  readonly nearest?: Pick<ProjectConfig, "model" | "writes"> | undefined;
  /** What the user's own file says where it raises trust: nothing, where it lies in the checkout. */
  readonly operator: ProjectConfig;
  readonly skills: SkillSet;
  readonly choices: SkillChoices;
  readonly store: Store;
  /** Where it keeps runs as files; undefined where it keeps none. */
  readonly storeDirectory: string | undefined;
  /** What workers take runs from; undefined where runs are files, or in a store of another program's. */
  readonly queue?: RunQueue | undefined;
  /** Takes runs in that this process drives when it has room; undefined in a store of another program's. */
  readonly intake?: Intake | undefined;
  /** Where runs remember. */
  readonly state: StateStore;
  /** Models of the program that uses us, by their prefixes. */
  readonly models: ReadonlyMap<string, Model>;
  readonly overrides: ReadonlyMap<string, string>;
  /** The options that a command needs again to continue a run that begins here. */
  readonly again: readonly RecordedOption[];
}

export type StorePlace = string | Store | EnginePlace | undefined;

/** The distributed engine, and its database by its address: the environment's, where none is given. */
export interface EnginePlace {
  readonly engine: "dbos";
  readonly url: string | undefined;
}

export interface WorkspaceOptions {
  readonly overrides: ReadonlyMap<string, string>;
  readonly skillDirs: readonly string[];
  readonly discover: boolean;
  /** A folder of run files, a database, or a store of one's own; `.skillflow/runs` where nothing is said. */
  readonly store: StorePlace;
  /** A folder, `git:BRANCH`, or a place of one's own; `.skillflow/state` where nothing is said. */
  readonly state?: string | StateStore | undefined;
  /** Nobody but this machine is to be contacted. */
  readonly offline?: boolean;
  /** Skills of the program that uses us: they stand above all that are found, and need no trust. */
  readonly given?: readonly Skill[];
  readonly models?: ReadonlyMap<string, Model>;
  /** Absent: nothing was said. */
  readonly skillFlags?: SkillFlags;
  /** Code in the sandbox may write to the working directory. */
  readonly writableWorkdir?: boolean;
}
