import { SkillflowError } from "../../core/base/errors.ts";
import { isObject, type Json, type JsonObject, parseJson } from "../../core/base/values.ts";
import { changedNumber, numberAdvice } from "../../core/skill/exact-numbers.ts";

type Id = string | number | null;

export class RpcError extends Error {
  constructor(
    readonly code: number,
    /** Stable identifier for programs. */
    readonly type: string,
    message: string,
    readonly data: JsonObject = {},
  ) {
    super(message);
  }
}

export const invalidParams = (message: string) => new RpcError(-32602, "InvalidParams", message);

export type Method = (params: JsonObject, signal: AbortSignal) => Promise<Json>;

export interface RpcOptions {
  readonly methods: ReadonlyMap<string, Method>;
  readonly mostCalls: number;
  /** Receives internal errors, whose details callers do not see. */
  readonly onFault: (error: unknown) => void;
}

/** Answers a request or a batch. Returns undefined if it held only notifications. */
export async function answerRpc(text: string, given: RpcOptions, signal: AbortSignal): Promise<Json | undefined> {
  const body = parseJson(text);
  if (body === undefined) return failure(null, new RpcError(-32700, "ParseError", "the body is not JSON"));
  const options = { ...given, number: changedNumber(text) };
  if (!Array.isArray(body)) return answerOne(body, options, signal);
  const { mostCalls } = options;
  if (body.length === 0) return failure(null, invalidRequest("the batch is empty"));
  if (body.length > mostCalls) return failure(null, invalidRequest(`a batch may hold at most ${mostCalls} calls`));
  const answers = await Promise.all(body.map((call) => answerOne(call, options, signal)));
  const told = answers.filter((answer) => answer !== undefined);
  return told.length === 0 ? undefined : told;
}

function invalidRequest(message: string): RpcError {
  return new RpcError(-32600, "InvalidRequest", message);
}

async function answerOne(call: Json, options: Answering, signal: AbortSignal): Promise<Json | undefined> {
  const request = readRequest(call);
  if ("fault" in request) return failure(request.id, request.fault);
  const { id } = request;
  try {
    const result = await perform(request, options, signal);
    return id === undefined ? undefined : { jsonrpc: "2.0", id, result };
  } catch (error) {
    // A failure after the caller disconnected is not a fault, and no one reads the answer.
    const told = signal.aborted ? new RpcError(-32000, "Cancelled", "client disconnected") : asRpcError(error, options);
    return id === undefined ? undefined : failure(id, told);
  }
}

interface Answering extends RpcOptions {
  /** Number of the body that reading it changed. Any call of the body may have it. */
  readonly number: string | undefined;
}

interface Request {
  readonly method: string;
  readonly params: Json;
  readonly id: Id | undefined;
}

function readRequest(call: Json): Request | { readonly id: Id; readonly fault: RpcError } {
  if (!isObject(call)) return { id: null, fault: invalidRequest("a call must be an object") };
  const { jsonrpc, method, params = {}, id } = call as JsonObject;
  const known = isId(id) ? id : null;
  if (id !== undefined && !isId(id)) return { id: null, fault: invalidRequest("id must be string, number or null") };
  if (jsonrpc !== "2.0") return { id: known, fault: invalidRequest('jsonrpc is not "2.0"') };
  if (typeof method !== "string") return { id: known, fault: invalidRequest("method is not a string") };
  if (typeof params !== "object" || params === null)
    return { id: known, fault: invalidRequest("params is not an object") };
  return { method, params, id };
}

function isId(id: Json | undefined): id is Id {
  return id === null || typeof id === "string" || typeof id === "number";
}

async function perform({ method, params }: Request, options: Answering, signal: AbortSignal): Promise<Json> {
  const { methods, number } = options;
  const carryOut = methods.get(method);
  if (!carryOut) throw new RpcError(-32601, "MethodNotFound", `there is no method ${method}`);
  // Some clients send an empty list for no parameters.
  const named = Array.isArray(params) && params.length === 0 ? {} : params;
  if (!isObject(named)) throw invalidParams("params must be an object");
  if (number !== undefined) throw invalidParams(`the body has ${numberAdvice(number)}: pass it as text`);
  return carryOut(named as JsonObject, signal);
}

const OWN_CODES: Readonly<Record<string, readonly [code: number, type: string]>> = {
  "calls.full": [-32000, "Busy"],
  "blob.unknown": [-32003, "BlobNotFound"],
  "blob.refused": [-32006, "PayloadTooLarge"],
};

function asRpcError(error: unknown, { onFault }: RpcOptions): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof SkillflowError) {
    const [code, type] = OWN_CODES[error.code] ?? [-32000, error.code];
    return new RpcError(code, type, error.message, error.hint ? { hint: error.hint } : {});
  }
  onFault(error);
  return new RpcError(-32603, "InternalError", "internal error");
}

function failure(id: Id, { code, message, type, data }: RpcError): Json {
  return { jsonrpc: "2.0", id, error: { code, message, data: { type, ...data } } };
}
