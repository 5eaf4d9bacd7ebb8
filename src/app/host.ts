import { isAbsolute, relative, sep } from "node:path";
import { errorFor, SkillflowError } from "../core/base/errors.ts";
import { asFlag, type Hint, type OptionWriter, renderHint } from "../core/base/options.ts";
import type { Environment, ProjectConfig } from "../core/document/config.ts";
import type { ShortLivedKeys } from "../core/document/model-name.ts";
import type { LoadedPolicy } from "../core/document/policy.ts";
import type { RecordedOption } from "../core/engine/event/record.ts";
import type { Intake, Model, ProcessMark, RunQueue, StateStore, Store } from "../core/engine/ports.ts";
import type { Skill } from "../core/skill/skill.ts";
import type { LoadedConfig } from "../loaders/documents/project-config.ts";
import type { Processes } from "../loaders/mcp/server-types.ts";
import type { SkillSet } from "../loaders/registry/skill-set.ts";
import { followProcess } from "../sandbox/processes.ts";
import type { SkillChoices, SkillFlags } from "./skills/choices.ts";

/** Workflow, config and skills of a commit, in a separate folder. */
export interface DocumentsAt {
  /** Replaces the working directory for documents. */
  readonly folder: string;
  readonly commit: string;
  /** Reason for this commit, such as `--from-ref main` or `the base of pull_request`. */
  readonly by: string;
  /** True if only a record names the commit, and the trusted history does not contain it. */
  readonly isForeign: boolean;
  /** True if the CI event requires it, because the checkout may be an untrusted author's. */
  readonly ofEvent: boolean;
  remove(): void;
}

/** Environment of the program. The command line takes it from its process. */
export interface Host {
  readonly env: Environment;
  readonly cwd: string;
  readonly envFrom?: string;
  /** Replaces `cwd` for documents, config and skills. Undefined to use `cwd` itself. */
  readonly documents?: DocumentsAt | undefined;
  /** Provides model keys that expire. The environment variables hold their first values. */
  readonly keys?: ShortLivedKeys | undefined;
  /** Policies in force. Set by `openWorkspace`. */
  readonly policies?: readonly LoadedPolicy[];
  /** Policy file that the process itself was given, which `env` cannot replace. */
  readonly namedPolicy?: string | undefined;
  /** Replaces the path of the machine's policy. No option or variable sets it. */
  readonly machinePolicy?: string;
  readonly self: ProcessMark;
  readonly isAlive: (mark: ProcessMark) => boolean;
  /** Registers work for the end of the process. */
  readonly atExit?: (work: () => void) => void;
  readonly execPath: string;
  /** Undefined if users have no numeric id (Windows). */
  readonly uid: number | undefined;
  /** Writes option names for the user, in hints and messages. Default: flags. */
  readonly writeOption?: OptionWriter | undefined;
  /** Shows progress of a slow operation to the user. Undefined if no user is watching. */
  readonly note?: (line: string) => void;
  /** Registers a handler for the first signal that asks the process to stop. */
  readonly onInterrupt?: (stop: (reason: string) => void) => void;
  /** Sends a signal to a process, or to a group by its negative id. Ignores processes that have ended. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
}

/** Writes a hint with the option names of the host's surface. */
export function hintText({ writeOption = asFlag }: Pick<Host, "writeOption">, hint: Hint): string {
  return renderHint(hint, writeOption);
}

/** Returns an error whose hints have the option names of the host's surface. */
export function shownError(error: unknown, { writeOption }: Pick<Host, "writeOption">): unknown {
  return writeOption && error instanceof SkillflowError ? errorFor(error, writeOption) : error;
}

/** Returns the folder of the workflow, the project's config and its skills. */
export function documentsOf({ cwd, documents }: Pick<Host, "cwd" | "documents">): string {
  return documents?.folder ?? cwd;
}

/** Returns a path relative to the documents' folder, or unchanged if it is outside. */
export function shownPath(host: Pick<Host, "cwd" | "documents">, path: string): string {
  const shown = relative(documentsOf(host), path);
  return shown === "" || shown.startsWith(`..${sep}`) || isAbsolute(shown) ? path : shown;
}

export function processesOf({ self, kill, isAlive }: Host): Processes {
  return { self, kill, isAlive: (pid) => isAlive({ ...self, pid, started: "" }), follow: followProcess };
}

export interface Workspace {
  readonly host: Host;
  readonly root: string;
  readonly project: LoadedConfig | undefined;
  readonly user: LoadedConfig | undefined;
  /** Settings from the file that the command names. */
  readonly nearest?: Pick<ProjectConfig, "model" | "writes"> | undefined;
  /** Settings that may raise trust, from the user's own config. Empty if that file is in the checkout. */
  readonly operator: ProjectConfig;
  readonly skills: SkillSet;
  readonly choices: SkillChoices;
  readonly store: Store;
  /** Folder of the run files. Undefined if the store keeps no files. */
  readonly storeDirectory: string | undefined;
  /** Queue that workers take runs from. Undefined for file stores and custom stores. */
  readonly queue?: RunQueue | undefined;
  /** Accepts runs that this process executes later. Undefined for custom stores. */
  readonly intake?: Intake | undefined;
  readonly state: StateStore;
  readonly models: ReadonlyMap<string, Model>;
  readonly overrides: ReadonlyMap<string, string>;
  /** Options that the user must repeat to continue this run. */
  readonly again: readonly RecordedOption[];
}

export type StorePlace = string | Store | EnginePlace | undefined;

/** The distributed engine and its database URL. Without one, the environment's is used. */
export interface EnginePlace {
  readonly engine: "dbos";
  readonly url: string | undefined;
}

export interface WorkspaceOptions {
  readonly overrides: ReadonlyMap<string, string>;
  readonly skillDirs: readonly string[];
  readonly discover: boolean;
  /** Folder of run files, database, or custom store. Default: `.skillflow/runs`. */
  readonly store: StorePlace;
  /** Folder, `git:BRANCH`, or custom store. Default: `.skillflow/state`. */
  readonly state?: string | StateStore | undefined;
  /** Makes no network requests except to this machine. */
  readonly offline?: boolean | undefined;
  /** Skills of the calling program. They override all others and need no trust. */
  readonly given?: readonly Skill[];
  readonly models?: ReadonlyMap<string, Model>;
  readonly skillFlags?: SkillFlags;
  /** Lets sandboxed code write to the working directory. */
  readonly writableWorkdir?: boolean | undefined;
}
