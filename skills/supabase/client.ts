import type { PostgrestSingleResponse, SupabaseClient } from "@supabase/supabase-js";
import { createRedactor, type Json, parseJson, requestsOf, type ToolContext } from "skillflow";
import { requiredKey, serviceUrl } from "skillflow/internal";
import { type Api, parseApi } from "./api.ts";
import { outcome, Refusal, type Said } from "./failure.ts";
import { patientFetch, type Wire } from "./patience.ts";
import { isReadable, nameOf, namesLike, type Place } from "./places.ts";

type Row = Record<string, unknown>;
type AnyTable = { Row: Row; Insert: Row; Update: Row; Relationships: [] };
type Schema = {
  Tables: Record<string, AnyTable>;
  Views: Record<string, never>;
  Functions: Record<string, { Args: Row; Returns: Row[] }>;
};
/** Generic types without tables. The version enables `maxAffected` in the types; older servers refuse it. */
type Database = { __InternalSupabase: { PostgrestVersion: "14" }; public: Schema };
type Client = SupabaseClient<Database>;
interface Request extends PromiseLike<PostgrestSingleResponse<unknown>> {
  retry(enabled: boolean): Request;
}

export interface Answer {
  readonly data: Json;
  readonly count: number | undefined;
}

export type Supabase = Awaited<ReturnType<typeof openSupabase>>;

/** Runs a tool's work on the database. Rethrows errors with advice, without secrets. */
export async function withSupabase(
  context: ToolContext,
  work: (supabase: Supabase) => Promise<unknown>,
): Promise<unknown> {
  const redactor = createRedactor([
    { name: "SUPABASE_SERVICE_ROLE_KEY", value: context.config["SUPABASE_SERVICE_ROLE_KEY"] ?? "" },
  ]);
  try {
    return await work(await openSupabase(context, redactor.value));
  } catch (error) {
    context.signal.throwIfAborted();
    throw requestsOf(context).failure(error, redactor.text(error instanceof Error ? error.message : String(error)));
  }
}

/** Runs work on one table. If it does not exist, the error suggests similar names. */
export function onTable(
  place: Place,
  context: ToolContext,
  work: (supabase: Supabase) => Promise<unknown>,
): Promise<unknown> {
  return withSupabase(context, async (supabase) => {
    try {
      return await work(supabase);
    } catch (error) {
      if (!(error instanceof Refusal && error.isUnknownTable)) throw error;
      throw new Error(`${error.message}${await nearTables(supabase, place, context)}`);
    }
  });
}

async function nearTables(supabase: Supabase, place: Place, context: ToolContext): Promise<string> {
  try {
    return nearNames(place, await supabase.describe(place.schema), context);
  } catch (error) {
    // Servers without a description get no suggestions.
    if (error instanceof Refusal) return "";
    throw error;
  }
}

export function nearNames(place: Place, api: Api, context: ToolContext): string {
  const names = api.tables.map(({ name }) => name);
  const readable = names.filter((name) => isReadable({ schema: place.schema, name }, context));
  const near = namesLike(place.name, readable).map((name) => nameOf({ schema: place.schema, name }, context));
  return near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : "";
}

type Redact = (said: Json) => Json;

/** WebSocket that the SDK requires and Node 20 lacks. None is opened. */
class Unopened {}

async function openSupabase(context: ToolContext, redacted: Redact) {
  const { createClient } = await import("@supabase/supabase-js");
  const address = serviceUrl({ name: "Supabase", address: "SUPABASE_URL" }, context.config);
  const key = requiredKey(context.config, "SUPABASE_SERVICE_ROLE_KEY");
  const wire = patientFetch(context);
  const client = createClient<Database>(address, key, {
    global: { fetch: wire.fetch },
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    realtime: { transport: Unopened as never },
  });
  // The cast allows any schema, because all share one declared type.
  const schema = (name: string) => client.schema(name as "public");
  return {
    table: ({ schema: of, name }: Place) => schema(of).from(name) as ReturnType<Client["from"]>,
    call: ({ schema: of, name }: Place, args: Row) => schema(of).rpc(name, args) as ReturnType<Client["rpc"]>,
    /** Sends a request. Throws a `Refusal` if the server refuses it. */
    ask: (request: Request): Promise<Answer> => ask(request, wire, redacted),
    /** Returns the schema's tables and functions from PostgREST's description. */
    describe: async (of: string): Promise<Api> => {
      const headers = { accept: "application/openapi+json", "accept-profile": of, ...bearer(key) };
      const response = await wire.fetch(`${address}/rest/v1/`, { headers });
      return readApi(response, redacted);
    },
  };
}

async function ask(request: Request, wire: Wire, redacted: Redact): Promise<Answer> {
  // The SDK's retries treat rate limits like failures and wait for seconds.
  const { data, error, count } = await request.retry(false);
  const { failure, response, method } = wire.last();
  if (failure !== undefined) throw failure;
  if (!response) throw new Error(error?.message ?? "Supabase did not respond.");
  if (response.ok && error) throw new Error(`${NOT_JSON}${method === "GET" ? "" : outcome(method)}`);
  if (!response.ok) throw new Refusal(response.status, redacted((error ?? {}) as Json) as Said, method);
  return { data: (data ?? null) as Json, count: Number.isInteger(count) ? (count ?? undefined) : undefined };
}

async function readApi(response: Response, redacted: Redact): Promise<Api> {
  const body = parseJson(await response.text());
  if (!response.ok) throw new Refusal(response.status, redacted((body ?? {}) as Json) as Said, "GET");
  const api = parseApi(body);
  if (!api) throw new Error(NOT_JSON);
  return api;
}

function bearer(key: string) {
  return { apikey: key, authorization: `Bearer ${key}` };
}

const NOT_JSON = "Supabase's response is not in the expected form. Check SUPABASE_URL and any proxy in front of it.";
