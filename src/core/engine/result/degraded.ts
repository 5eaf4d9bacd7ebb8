import type { Shortfall } from "../event/end.ts";

/** One line for people. */
export function shortfallText({ skill, reason }: Shortfall): string {
  return skill === undefined ? reason : `without ${skill}: ${reason}`;
}
