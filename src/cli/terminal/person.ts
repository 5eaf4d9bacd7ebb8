import type { Io } from "../io.ts";

export { personAtWork } from "../../app/adapters/person.ts";

/** Asks a question that only `y` or `yes` answers with true. Without a user to ask, the answer is false. */
export async function confirms(io: Pick<Io, "ask">, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test((await io.ask?.(`${question} [y/N] `))?.trim() ?? "");
}
