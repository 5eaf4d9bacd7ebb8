import type { Envelope, EventOf, RunEvent, RunRecord } from "./event.ts";

/** The events that a summary is made of; of all others it takes the time alone. */
const TELLING = ["node:enter", "model:reply", "workflow:end", "run:resume"] as const;

type Moment = Pick<Envelope, "at" | "epoch"> & { readonly type: "other" };

export type Skimmed = (EventOf<(typeof TELLING)[number]> & Envelope) | Moment;

export interface SkimmedRun {
  readonly record: RunRecord;
  readonly events: readonly Skimmed[];
}

export function isTelling(type: string): boolean {
  return TELLING.some((telling) => telling === type);
}

export function skimEvent(event: RunEvent): Skimmed {
  return isTelling(event.type) ? (event as Skimmed) : { type: "other", at: event.at, epoch: event.epoch };
}
