import {
  type GivenPeriod,
  grafanaHeaders,
  lenient,
  type Period,
  periodOf,
  type Service,
  toolsWith,
  workOn,
} from "skillflow/internal";
import * as z from "zod";

const TEMPO: Service = {
  name: "Tempo",
  address: "TEMPO_URL",
  api: ["api"],
  keys: ["TEMPO_TOKEN"],
  needs: "permission to read traces (in Grafana Cloud the traces:read scope)",
  headers: grafanaHeaders("TEMPO"),
};

export const withTempo = workOn(TEMPO);

export const tempoTool = toolsWith(withTempo);

export const query = z.string().min(1).max(4000);
/** Converts a period to whole seconds, which Tempo requires, with the end rounded up. */
export function secondsOf({ from: begin, to: end }: Period) {
  return { start: Math.floor(begin / 1000), end: Math.ceil(end / 1000) };
}

export function periodParameters(input: GivenPeriod, now: number) {
  return secondsOf(periodOf(input, now));
}

export const text = lenient(z.string());
export const number = lenient(z.coerce.number());

/** Returns the schema of a response. Tempo omits empty members, but a response without any is not Tempo's. */
export function answered<Members extends z.ZodRawShape>(members: Members) {
  const answer = z.object({ ...members, metrics: z.unknown().optional() });
  return answer.refine((told) => Object.values(told).some((member) => member !== undefined && member !== null));
}

/** OpenTelemetry attribute, whose value is wrapped by type. */
export const attribute = z.object({
  key: z.string(),
  value: lenient(z.record(z.string(), z.unknown())),
});
type Attribute = z.infer<typeof attribute>;

export function attributesOf(list: readonly Attribute[] | null | undefined): Record<string, unknown> {
  return Object.fromEntries((list ?? []).map(({ key, value }) => [key, unwrapped(value)]));
}

function unwrapped(value: Attribute["value"]): unknown {
  const [kind, inner] = Object.entries(value ?? {})[0] ?? [];
  if (kind === "intValue" || kind === "doubleValue") return Number(inner);
  if (kind === "stringValue" || kind === "boolValue") return inner;
  return inner === undefined ? undefined : JSON.stringify(inner);
}

/** Converts Unix nanoseconds, as text or a number, to milliseconds. */
export function milliseconds(nanoseconds: unknown): number {
  const digits = String(nanoseconds ?? "");
  return /^\d+$/.test(digits) ? Number(BigInt(digits) / 1000n) / 1000 : 0;
}
