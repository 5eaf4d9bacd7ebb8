import type { Waiting } from "../event/end.ts";

/** What says a person's word to a run that waits for it. */
export interface Answers {
  readonly approve: string;
  readonly deny: string;
}

/** Without the program's name, as a shell takes them. */
export function signalCommands(run: string, { node }: Pick<Waiting, "node">): Answers {
  const command = `signal ${run} ${shellWord(node)}`;
  return { approve: `${command} --approve`, deny: `${command} --deny` };
}

/** A node with its place as a shell takes it: keys of items may hold anything. */
export function shellWord(text: string): string {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
