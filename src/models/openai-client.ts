import type OpenAI from "openai";
import { LONGEST_TIMER_MS } from "../core/base/values.ts";
import type { Service } from "./faults.ts";
import type { Line } from "./wire.ts";

export async function openaiClient(service: Service, line: Line): Promise<OpenAI> {
  const { default: Client } = await import("openai");
  return new Client(plainClient(service, line));
}

/** Returns options with which a client reads no environment variables, and sends no key if there is none. */
export function plainClient({ apiKey, baseURL }: Service, line: Line) {
  return {
    apiKey: apiKey ?? "none",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL,
    fetch: line.fetch,
    maxRetries: 0,
    timeout: LONGEST_TIMER_MS,
    logLevel: "off",
    ...(apiKey === undefined ? { defaultHeaders: { authorization: null } } : {}),
  } as const;
}
