import type { Waiting } from "../event/end.ts";
import type { RunEvent } from "../event/event.ts";
import type { RunRecord } from "../event/record.ts";
import { changedSkillsIn } from "../fold/degraded.ts";
import { recordedSettings } from "../settings/settings.ts";
import type { RunResult } from "./result.ts";

export interface Answers {
  readonly approve: string;
  readonly deny: string;
}

/** Returns the commands in shell syntax, without the program's name. */
export function signalCommands(run: Continued, { node }: Pick<Waiting, "node">): Answers {
  const command = `signal ${run.record.run} ${shellWord(node)}`;
  return { approve: withOptions(`${command} --approve`, run), deny: withOptions(`${command} --deny`, run) };
}

export interface Continued {
  readonly record: Pick<RunRecord, "run" | "options">;
  readonly events?: readonly object[];
  /** Skills that the user trusts in this process. */
  readonly trusted?: readonly string[] | undefined;
}

/** Adds the options that a run needs to continue: its own, and trust for skills that had or lacked it. */
export function withOptions(command: string, { record, events = [], trusted = [] }: Continued): string {
  const untrusted = changedSkillsIn(events).flatMap(({ id, cause }) => (cause === "untrusted" ? id : []));
  const trust = [...new Set([...trusted, ...untrusted])].map((id) => ` --trust-skill ${shellWord(id)}`);
  const options = (record.options ?? []).filter(({ name }) => name !== "offline" || !command.startsWith("apply "));
  const words = options.map(({ name, value }) => {
    return value === undefined ? ` --${name}` : ` --${name} ${shellWord(value)}`;
  });
  return [command, ...trust, ...words].join("");
}

/** Returns the command that shows a run, or one of its nodes, from the store that the run was started with. */
export function showCommand({ run, options = [] }: Pick<RunRecord, "run" | "options">, node?: string): string {
  const command = node === undefined ? `runs show ${run}` : `runs show ${run} ${shellWord(node)}`;
  return withOptions(command, { record: { run, options: options.filter(({ name }) => name === "store") } });
}

/** Returns the command that shows what a run's skills need. A file name may start with a dash. */
export function doctorCommand({ file = "WORKFLOW" }: Pick<RunRecord, "file">): string {
  return `doctor ${shellWord(file.startsWith("-") ? `./${file}` : file)}`;
}

/** Quotes a word for the shell. Keys of items in a node's path may contain any character. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-][\w./@%+=:,#-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the command that resumes a run, with its original options and a higher limit if one stopped it. */
export function resumeCommand(run: Told): string {
  return withOptions(resumption(run), run);
}

function resumption({ record, events, result }: Told): string {
  const command = `resume ${record.run}`;
  const { limits } = recordedSettings(record.settings, events);
  const { max_cost_usd = 0, max_tokens = 0, max_steps = 0, timeout_ms = 0 } = limits;
  const { inputTokens, outputTokens, costUsd } = result.usage;
  switch (result.status === "stopped" ? events.findLast((event) => event.type === "limit:reached")?.limit : undefined) {
    case "max_steps":
      return `${command} --max-steps ${max_steps * 2}`;
    case "max_tokens":
      return `${command} --max-tokens ${raised(max_tokens, inputTokens + outputTokens)}`;
    case "max_cost_usd":
      return `${command} --max-cost ${raised(max_cost_usd, costUsd ?? 0)}`;
    case "timeout":
      return `${command} --timeout ${timeout_ms % 500 === 0 ? `${timeout_ms / 500}s` : `${timeout_ms * 2}ms`}`;
    default:
      return command;
  }
}

interface Told extends Continued {
  readonly record: RunRecord;
  readonly events: readonly RunEvent[];
  readonly result: RunResult;
}

/** Raises a limit by its own size, rounded up to two digits. The last call may have far exceeded it. */
function raised(limit: number, used: number): number {
  const wanted = Math.max(limit, used) + limit;
  const unit = 10 ** (Math.floor(Math.log10(wanted)) - 1);
  return Number((Math.ceil(wanted / unit) * unit).toPrecision(2));
}
