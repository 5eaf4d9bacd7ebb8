import { type ErrorCode, reasonOf, SkillflowError } from "../core/base/errors.ts";
import { isObject } from "../core/base/values.ts";

/** Part of `fetch` that models use. Node's classes of headers and responses take long to load. */
export type ModelFetch = (...request: Parameters<typeof fetch>) => Promise<Received>;

export interface Received extends Pick<Response, "ok" | "status" | "statusText"> {
  /** The part of a web stream that models and their SDKs use. */
  readonly body: null | {
    getReader(): Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel" | "releaseLock">;
    cancel(): Promise<void>;
  };
  /** Names are in lower case. */
  readonly headers: { get(name: string): string | null | undefined };
}

export interface Service {
  readonly name: string;
  readonly baseURL: string;
  /** Undefined if the service needs no key. */
  readonly apiKey: string | undefined;
  /** Returns the current key, for keys that expire within minutes. */
  readonly shortLived?: (() => Promise<string>) | undefined;
  /** Name of the variable that holds the key, for hints. */
  readonly keyName: string;
  readonly fetch: ModelFetch;
  /** Longest silence in milliseconds. */
  readonly idleMs: number;
  /** Returns the error of a request that was not sent, such as one that could not be signed. */
  readonly unsent?: ((service: Service, error: unknown) => SkillflowError) | undefined;
}

/** Options of a model. Those that are missing are the service's own. */
export type ServiceOptions = { readonly [Key in Exclude<keyof Service, "name">]?: Service[Key] | undefined };

const IDLE_MS = 120_000;

export function serviceOf(options: ServiceOptions, usual: Pick<Service, "name" | "baseURL" | "keyName">): Service {
  const { apiKey, baseURL, shortLived, unsent, idleMs = IDLE_MS, keyName = usual.keyName } = options;
  const place = { name: usual.name, keyName, baseURL: baseURL || usual.baseURL };
  return { ...place, apiKey: apiKey?.trim(), shortLived, unsent, fetch: options.fetch ?? fetch, idleMs };
}
export async function keyed(service: Service): Promise<Service> {
  return service.shortLived ? { ...service, apiKey: await service.shortLived() } : service;
}

export interface Fault {
  /** Undefined for errors inside a stream. */
  readonly status?: number;
  readonly headers?: Received["headers"];
  /** Error types and codes of the API. */
  readonly kinds: string;
  readonly message: string;
}

export function failureOf(service: Service, model: string, fault: Fault): SkillflowError {
  const { name, keyName } = service;
  const code = codeOf(fault);
  const status = fault.status === undefined ? "" : ` (${fault.status})`;
  const said = withoutKey(service, fault.message).trim();
  const reason = said === "" ? "" : `: ${said}`;
  switch (code) {
    case "model.auth": {
      const message = fault.status === 403 ? `${name} refused access${reason}` : `${name} refused the API key`;
      return new SkillflowError(code, message, { hint: `Check ${keyName}.` });
    }
    case "model.unknown":
      return new SkillflowError(code, `${name} has no model "${model}"${reason}`, {
        hint: "Set another with `model` in the workflow, its node or the run's options; for another server, check the base URL.",
      });
    case "model.quota":
      return new SkillflowError(code, `The quota or credit at ${withinSentence(service)} is used up${reason}`);
    case "model.overloaded": {
      const repeatable = waitOf(fault.headers);
      return new SkillflowError(code, `${name} cannot answer now${status}${reason}`, { repeatable });
    }
    default:
      return new SkillflowError(code, `${name} rejected the request${status}${reason}`);
  }
}

const QUOTA = /insufficient_quota|billing|spend_limit|insufficient_balance|insufficient_credits/;
const QUOTA_WORDS = /credit balance is too low|exceeded your current quota|insufficient (quota|balance|credits)/i;
const UNKNOWN_WORDS = /\b(invalid|unknown) model\b|\bmodel\b.{0,120}\b(not found|does not exist)/i;
const BUSY = /rate_limit|overloaded|server_error|api_error|timeout/;
const INVALID = /invalid|not_found|too_large|policy|prompt|image|validation/;

function codeOf({ status = 0, kinds, message }: Fault): ErrorCode {
  if (status === 402 || QUOTA.test(kinds) || QUOTA_WORDS.test(message)) return "model.quota";
  if (status === 404 || /model_not_found/.test(kinds)) return "model.unknown";
  if (status === 400 && UNKNOWN_WORDS.test(message)) return "model.unknown";
  if (status === 401 || status === 403 || /authentication|permission|api_key/.test(kinds)) return "model.auth";
  if ([408, 409, 425, 429].includes(status) || status >= 500 || BUSY.test(kinds)) return "model.overloaded";
  return status === 0 && !INVALID.test(kinds) ? "model.overloaded" : "model.rejected";
}

function waitOf(headers: Fault["headers"]): { readonly afterMs?: number } {
  const exact = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  if (exact >= 0) return { afterMs: exact };
  const text = headers?.get("retry-after") ?? "";
  const seconds = Number(text);
  if (text !== "" && seconds >= 0) return { afterMs: seconds * 1000 };
  const date = Date.parse(text);
  return Number.isNaN(date) ? {} : { afterMs: Math.max(0, date - Date.now()) };
}

/** Extracts the fault from a JSON body, in any of the formats in use. */
export function faultOfBody(body: unknown): Fault | undefined {
  if (!isObject(body)) return undefined;
  const error = isObject(body["error"]) ? body["error"] : body;
  const details = isObject(error["details"]) ? error["details"]["error_code"] : undefined;
  const kinds = [error["type"], error["code"], details].filter((kind) => typeof kind === "string").join(" ");
  const said = error["message"] ?? body["error"] ?? body["detail"] ?? body["message"] ?? body;
  const status = Number(error["code"] ?? error["status"]);
  return {
    kinds,
    message: typeof said === "string" ? said : JSON.stringify(said),
    ...(status >= 400 && status < 600 ? { status } : {}),
  };
}

function withinSentence({ name }: Service): string {
  return name.replace(/^The /, "the ");
}

export function unreachable(service: Service, error: unknown): SkillflowError {
  const { host } = new URL(service.baseURL);
  const message = `Cannot reach ${withinSentence(service)} at ${host}: ${reasonOf(error)}`;
  const hint = "Check the network and the service's base URL.";
  return new SkillflowError("model.unreachable", message, { hint, cause: error, repeatable: {} });
}

/** Returns the error of a request for which a vendor's SDK found no credentials. */
export function unsigned({ name, keyName }: Service, error: unknown): SkillflowError {
  const message = `${name} cannot be asked without credentials: ${reasonOf(error)}`;
  return new SkillflowError("model.auth", message, { hint: `Check ${keyName}.`, cause: error });
}

export function silence(service: Service): SkillflowError {
  const message = `${service.name} sent nothing for ${service.idleMs / 1000} s`;
  return new SkillflowError("model.unreachable", message, { repeatable: {} });
}

/** Removes the key from a message, because services may quote it. */
export function withoutKey(service: Service, text: string): string {
  return service.apiKey === undefined ? text : text.replaceAll(service.apiKey, `[${service.keyName}]`);
}
