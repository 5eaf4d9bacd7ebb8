import type { Io } from "./io.ts";

/** Who gives a word or applies a plan, `kim@laptop`: kept in the run's record. */
export function personAtWork({ host }: Pick<Io, "host">): string {
  return `${host.env.USER || host.env.LOGNAME || "somebody"}@${host.self.host}`;
}
