import type { ShownDiagnostic } from "../../core/base/diagnostic.ts";
import type { InferredInput } from "../../core/base/values.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { NodeResult } from "../../core/engine/event/node-result.ts";
import type { Model, StateStore, Store } from "../../core/engine/ports.ts";
import type { Recheck } from "../../core/engine/recheck/answer.ts";
import type { Ask } from "../../core/engine/record/ask.ts";
import type { RunSummary as RunRow } from "../../core/engine/record/run-summary.ts";
import type { RunResult } from "../../core/engine/result/result.ts";
import type { BacktestResult } from "../../core/outward/testing/backtest-result.ts";
import type { SkillDefinition } from "../../core/skill/skill.ts";
import type { ApplyResult } from "../runs/apply-operations.ts";
import type { SkillState } from "../skills/states.ts";
import type { TestResult } from "../testing/documents.ts";
import type { ReportKind } from "../views/reports.ts";
import type { ApplyOptions, BacktestOptions } from "./afterwards.ts";
import type { Run, Watching } from "./run.ts";

export type {
  ApplyOptions,
  ApplyResult,
  Ask,
  BacktestOptions,
  BacktestResult,
  Recheck,
  ReportKind,
  Run,
  RunRow,
  SkillState,
  TestResult,
};

/** Location and settings of a project. The defaults are those of the command line. */
export interface ProjectOptions {
  /** Directory of `.skillflow.yml` and skills, and base of relative paths. Default: the working directory. */
  readonly directory?: string;
  /**
   * Variables for config, provider keys, `HOME`, `XDG_CONFIG_HOME` and `SKILLFLOW_*`. Default: the process's variables
   * when the project is opened. With `{}` there is no home directory, and no config but `config`.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Your own skills. Each overrides any other skill with its id, even a built-in one, and needs no trust. */
  readonly skills?: readonly SkillDefinition[];
  /** Config values that override `env`, by key. Use `skill.KEY` if several skills declare the key. */
  readonly config?: Readonly<Record<string, string | undefined>>;
  /** Set to false to ignore the skill folders of the project and the user. Built-in skills stay. Default: true. */
  readonly discover?: boolean;
  /** Ids of skills whose code may run and whose servers may be connected. */
  readonly trust?: readonly string[];
  /** Models by prefix: `{ acme: model }` serves "acme:large". Overrides a provider with that name. */
  readonly models?: Readonly<Record<string, Model>>;
  /** Store for runs. Default: files in `.skillflow/runs` of the directory. */
  readonly store?: Store;
  /**
   * Store for state that later runs read: a folder, `git:BRANCH` of the checkout's remote, or a custom store.
   * Default: files in `.skillflow/state` of the directory.
   */
  readonly state?: string | StateStore;
}

/** Settings of a run that override its workflow, the project and `env`. */
export interface RunSettings {
  /** `provider:name`, or several in order. The next is asked if one is overloaded, unavailable or out of quota. */
  readonly model?: string | readonly string[];
  /** Policy for tools that write. */
  readonly writes?: "allow" | "plan" | "deny";
  /** Each given limit replaces the declared one. Amounts are in US dollars; `timeout` is in seconds, or like "10m". */
  readonly limits?: Limits;
}

export interface Limits {
  readonly max_cost_usd?: number;
  readonly max_tokens?: number;
  readonly max_steps?: number;
  readonly timeout?: number | string;
  readonly per_day?: { readonly max_cost_usd?: number; readonly max_runs?: number };
}

export interface RunOptions extends RunSettings, Watching {
  /** The run's input, as JSON. `dryRun: true` in it stops the run at its first decision. Default: `{}`. */
  readonly input?: { readonly [key: string]: unknown };
  /** Set to false to run even if a run with the same key ended within the workflow's cool-down. Default: true. */
  readonly coolDown?: boolean;
}

export interface ResumeOptions extends RunSettings, Watching {
  /** Node on the run's path to restart from. */
  readonly from?: string;
}

export interface ReplayOptions extends Watching {
  /** Source of tool results. Default: `recorded`. */
  readonly tools?: "recorded" | "live";
  /** Allows prompts to differ from the recording. If false, a replay ends with `replay.changed` (1). Default: false. */
  readonly allowChanges?: boolean;
}

export interface SignalOptions extends RunSettings, Watching {
  readonly approve: boolean;
  /** Reason, which later nodes see. */
  readonly note?: string;
  /** Person who decides. Default: the user of the CI job, or `USER@HOST`. */
  readonly by?: string;
}

export interface AskOptions extends Watching {
  /** `provider:name`. Default: the model of the run that the question is about. */
  readonly model?: string;
  /** Lets the model call the run's tools that only read. Default: false. */
  readonly live?: boolean;
}

/** Result of a run. The data of nodes have the types of their output schemas, if these are written in place. */
export type ResultOf<Given> = [Given] extends [never]
  ? RunResult
  : Omit<RunResult, "results"> & { readonly results: ResultsOf<Given> };

type ResultsOf<Given> = Given extends { readonly nodes: infer Nodes }
  ? string extends keyof Nodes
    ? RunResult["results"]
    : { readonly [Id in keyof Nodes]?: ResultOfNode<Nodes[Id]> }
  : RunResult["results"];

type ResultOfNode<Node> = Node extends { readonly output: infer Schema }
  ? Omit<NodeResult, "data"> & { readonly data: InferredInput<Schema> }
  : NodeResult;

/** Workflows, skills and runs of a directory. Methods fail only with a SkillflowError, and print nothing. */
export interface Project {
  /** Starts a run and returns immediately. Takes a workflow's path or its parsed value. Never throws. */
  run<const Given extends Workflow = Workflow>(workflow: string | Given, options?: RunOptions): Run<ResultOf<Given>>;
  /** Resumes a run by its id, a unique prefix of it, or `latest`. Yields only the new events. */
  resume(run: string, options?: ResumeOptions): Run;
  /** Replays a run with recorded model replies. Takes a run of the store, or the path of a trace file. */
  replay(runOrFile: string, options?: ReplayOptions): Run;
  /** Approves or denies a waiting run at a node, and continues it. */
  signal(run: string, node: string, options: SignalOptions): Run;
  /** Carries out the writes that a run planned. Rejects if no operation is approved. */
  apply(run: string, options?: ApplyOptions): Promise<ApplyResult>;
  /** Lists the runs, newest first, without backtests. */
  runs(): Promise<RunRow[]>;
  /** Asks a model a question about a run that has ended or waits. `result` rejects if there is no answer. */
  ask(run: string, question: string, options?: AskOptions): Run<Ask>;
  /** Repeats the calls that a run's claims cite, and checks whether the symptoms are gone. */
  recheck(run: string): Promise<Recheck>;
  /** Runs the tests in files and folders. Default: all tests of the project. Keeps the runs in memory by default. */
  test(places?: readonly string[]): Promise<TestResult>;
  /** Runs the cases of a file or folder, and grades the answers. */
  backtest(cases: string, options?: BacktestOptions): Promise<BacktestResult>;
  /** Returns all problems of a workflow and never rejects because of them. Makes no requests and asks no questions. */
  validate(workflow: string | Workflow): Promise<ShownDiagnostic[]>;
  /** Returns all skills, and what each of them lacks. */
  skills(): Promise<SkillState[]>;
  /** Returns the report of a recorded run as text. Takes a run of the store, or the path of a trace file. */
  report(runOrFile: string, kind: ReportKind): Promise<string>;
}
