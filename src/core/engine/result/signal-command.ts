import type { Waiting } from "../event/end.ts";
import type { RunRecord } from "../event/record.ts";
import { changedSkillsIn } from "../fold/degraded.ts";

/** What says a person's word to a run that waits for it. */
export interface Answers {
  readonly approve: string;
  readonly deny: string;
}

/** Without the program's name, as a shell takes them. */
export function signalCommands(run: Continued, { node }: Pick<Waiting, "node">): Answers {
  const command = `signal ${run.record.run} ${shellWord(node)}`;
  return { approve: withOptions(`${command} --approve`, run), deny: withOptions(`${command} --deny`, run) };
}

/** A run that a command is to continue. */
export interface Continued {
  readonly record: Pick<RunRecord, "run" | "options">;
  readonly events?: readonly object[];
  /** The skills that this process was told to trust. */
  readonly trusted?: readonly string[] | undefined;
}

/** A command that continues a run, with the options that it needs again: those of the run, and trust that it had or lacks. */
export function withOptions(command: string, { record, events = [], trusted = [] }: Continued): string {
  const untrusted = changedSkillsIn(events).flatMap(({ id, cause }) => (cause === "untrusted" ? id : []));
  const trust = [...new Set([...trusted, ...untrusted])].map((id) => ` --trust-skill ${shellWord(id)}`);
  const options = (record.options ?? []).filter(({ name }) => name !== "offline" || !command.startsWith("apply "));
  const words = options.map(({ name, value }) => {
    return value === undefined ? ` --${name}` : ` --${name} ${shellWord(value)}`;
  });
  return [command, ...trust, ...words].join("");
}

/** The command that shows what a run's skills need. A file may be named in any way. */
export function doctorCommand({ file = "WORKFLOW" }: Pick<RunRecord, "file">): string {
  return `doctor ${shellWord(file.startsWith("-") ? `./${file}` : file)}`;
}

/** A node with its place as a shell takes it: keys of items may hold anything. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
