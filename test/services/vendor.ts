import type { JsonObject } from "skillflow";
import type { Loopback, LoopbackRequest } from "skillflow/testing";
import type { Question } from "../contracts/questions.ts";

/** Period of the incident in the loopback services' data. */
export const PERIOD = { from: "2026-01-31T07:30:00Z", to: "2026-01-31T08:30:00Z" };

/** Loopback service of one built-in skill, exported as `vendor` by `test/services/<id>.ts`. */
export interface Vendor {
  readonly start: () => Promise<Loopback>;
  /** Config of the skill for the service at this URL. */
  readonly env: (url: string) => Readonly<Record<string, string>>;
  /** Values that must not appear in any output. */
  readonly secrets: readonly string[];
  /** One call that the service answers immediately. The tool is named without the skill's id. */
  readonly asked: readonly [tool: string, input: JsonObject];
  /** The three questions of the skill's SKILL.md. */
  readonly questions: Readonly<Record<string, Question>>;
  /** Recognizes requests that write. By default, every method except GET writes. */
  readonly isWrite?: (request: LoopbackRequest) => boolean;
  /** Inputs, by the tool's full name, that the service needs and the tool's schema does not determine. */
  readonly inputs?: Readonly<Record<string, JsonObject>>;
  /** False if the service answers from a published contract that is not in this checkout. */
  readonly isPublished?: boolean;
}
