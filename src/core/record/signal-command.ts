import type { Waiting } from "../event/end.ts";
import type { RunRecord } from "../event/record.ts";

/** What says a person's word to a run that waits for it. */
export interface Answers {
  readonly approve: string;
  readonly deny: string;
}

/** Without the program's name, as a shell takes them. */
export function signalCommands(record: Pick<RunRecord, "run" | "options">, { node }: Pick<Waiting, "node">): Answers {
  const command = `signal ${record.run} ${shellWord(node)}`;
  return { approve: withOptions(`${command} --approve`, record), deny: withOptions(`${command} --deny`, record) };
}

/** A command that continues a run, with the options that it needs again. */
export function withOptions(command: string, { options = [] }: Pick<RunRecord, "options">): string {
  const words = options.map(({ name, value }) => {
    return value === undefined ? ` --${name}` : ` --${name} ${shellWord(value)}`;
  });
  return `${command}${words.join("")}`;
}

/** A node with its place as a shell takes it: keys of items may hold anything. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
