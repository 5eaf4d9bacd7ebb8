import { OPTIONS, type OptionRow } from "../../app/options.ts";
import type { OptionName } from "../../core/base/options.ts";
import { defined } from "../../core/base/values.ts";
import type { Action } from "../io.ts";
import commands from "./commands.json" with { type: "json" };
import { type CommandSpec, GROUPS, type Listed, reworded } from "./options.ts";

/**
 * A command of `commands.json`. Its options are names of shared options, names of groups of them, shared options with
 * their own help, and options that only this command has.
 */
interface Row extends Pick<CommandSpec, "usage" | "summary" | "details" | "continues"> {
  readonly options?: readonly (string | readonly [name: string, help: string, extra?: object])[];
  readonly commands?: readonly Row[];
}

/** Loads the code of a command when it is called. */
const ACTIONS: Readonly<Record<string, () => Promise<Action>>> = {
  run: async () => (await import("../commands/run/run.ts")).run,
  resume: async () => (await import("../commands/run/run.ts")).resume,
  signal: async () => (await import("../commands/run/run.ts")).signal,
  replay: async () => (await import("../commands/run/run.ts")).replay,
  recheck: async () => (await import("../commands/run/recheck.ts")).recheck,
  ask: async () => (await import("../commands/runs/ask.ts")).ask,
  report: async () => (await import("../commands/run/report.ts")).report,
  apply: async () => (await import("../commands/run/apply.ts")).apply,
  validate: async () => (await import("../commands/author/validate.ts")).validate,
  init: async () => (await import("../commands/init/init.ts")).init,
  test: async () => (await import("../commands/testing/test.ts")).test,
  backtest: async () => (await import("../commands/testing/backtest.ts")).backtest,
  graph: async () => (await import("../commands/author/draw.ts")).graph,
  doctor: async () => (await import("../commands/author/doctor.ts")).doctor,
  "skills list": async () => (await import("../commands/skills/skills.ts")).listSkills,
  "skills show": async () => (await import("../commands/skills/skills.ts")).showSkill,
  "skills lint": async () => (await import("../commands/skills/lint.ts")).lintSkills,
  "skills new": async () => (await import("../commands/skills/new.ts")).newSkill,
  "runs list": async () => (await import("../commands/runs/list.ts")).listRuns,
  "runs show": async () => (await import("../commands/runs/show.ts")).showRun,
  "runs diff": async () => (await import("../commands/runs/diff.ts")).diffRuns,
  "runs verify": async () => (await import("../commands/runs/verify.ts")).verify,
  "runs export": async () => (await import("../commands/runs/export.ts")).exportRun,
  "runs prune": async () => (await import("../commands/runs/prune.ts")).pruneRuns,
  feedback: async () => (await import("../commands/runs/feedback.ts")).feedback,
  stats: async () => (await import("../commands/runs/stats.ts")).stats,
  "state list": async () => (await import("../commands/state.ts")).listStates,
  "state show": async () => (await import("../commands/state.ts")).showState,
  "state forget": async () => (await import("../commands/state.ts")).forgetState,
  "state export": async () => (await import("../commands/state.ts")).exportState,
  ui: async () => (await import("../commands/serve/ui.ts")).ui,
  serve: async () => (await import("../commands/serve/serve.ts")).serve,
  mcp: async () => (await import("../commands/serve/mcp.ts")).mcp,
  worker: async () => (await import("../commands/serve/worker.ts")).worker,
  listen: async () => (await import("../commands/serve/listen.ts")).listen,
  "mcp-lock": async () => (await import("../commands/author/mcp-lock.ts")).mcpLock,
  schema: async () => (await import("../commands/author/schema.ts")).printSchema,
  completion: async () => (await import("../commands/author/completion.ts")).completion,
};

function specOf({ options = [], commands: inner, ...row }: Row, lead = ""): CommandSpec {
  const name = lead + row.usage.split(" ", 1)[0];
  if (inner) return { ...row, commands: inner.map((each) => specOf(each, `${name} `)) };
  return { ...row, options: options.flatMap(optionsNamed), ...defined("load", ACTIONS[name]) };
}

/** Returns the options of an entry: those of a group, or one. */
function optionsNamed(entry: NonNullable<Row["options"]>[number]): Listed {
  if (typeof entry === "string") return GROUPS[entry] ?? [entry as OptionName];
  const [name, help] = entry;
  return [Object.hasOwn(OPTIONS, name) ? reworded(name as OptionName, help) : (entry as OptionRow)];
}

export const COMMANDS: readonly CommandSpec[] = (commands as unknown as readonly Row[]).map((row) => specOf(row));
