import type { Waiting } from "../event/end.ts";
import type { RunRecord } from "../event/record.ts";
import { changedSkillsIn } from "../fold/degraded.ts";

/** Commands that answer a waiting approval. */
export interface Answers {
  readonly approve: string;
  readonly deny: string;
}

/** Returns the commands in shell syntax, without the program's name. */
export function signalCommands(run: Continued, { node }: Pick<Waiting, "node">): Answers {
  const command = `signal ${run.record.run} ${shellWord(node)}`;
  return { approve: withOptions(`${command} --approve`, run), deny: withOptions(`${command} --deny`, run) };
}

/** Run that a command continues. */
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

/** Returns the command that shows what a run's skills need. A file name may start with a dash. */
export function doctorCommand({ file = "WORKFLOW" }: Pick<RunRecord, "file">): string {
  return `doctor ${shellWord(file.startsWith("-") ? `./${file}` : file)}`;
}

/** Quotes a word for the shell. Keys of items in a node's path may contain any character. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
