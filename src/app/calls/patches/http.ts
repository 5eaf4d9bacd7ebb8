import { attempt, reasonOf, SkillflowError } from "../../../core/base/errors.ts";
import { withoutEnd } from "../../../core/base/preview.ts";
import { isObject, type Json, type JsonObject, LONGEST_TIMER_MS, memberAt } from "../../../core/base/values.ts";

export interface Api {
  readonly name: string;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
  /** Time limit of each request. */
  readonly timeoutMs: number;
}

/** Returns functions for the requests below a path, and for their responses. */
export function openApi(api: Api, root: string) {
  const send = async (method: "GET" | "POST", path: string, body?: Json): Promise<Json | undefined> => {
    const place = path === "" ? root : `${root}/${path}`;
    const headers = { ...api.headers, "user-agent": "skillflow" };
    const what = `${api.name}: ${method} ${place.split("?")[0]}`;
    const late = AbortSignal.timeout(Math.min(api.timeoutMs, LONGEST_TIMER_MS));
    const request = async () => {
      const response = await api.fetch(`${withoutEnd(api.address, "/")}/${place}`, {
        method,
        ...(body === undefined
          ? { headers }
          : { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) }),
        // A redirect would get the token.
        redirect: "manual",
        signal: AbortSignal.any([api.signal, late]),
      });
      return { status: response.status, isOk: response.ok, text: await response.text() };
    };
    const { status, isOk, text } = await request().catch((error: unknown) => {
      if (api.signal.aborted) throw error;
      if (late.aborted) throw new SkillflowError("tool.timeout", `${what} took longer than ${api.timeoutMs / 1000} s`);
      const message = `${what} got no response from ${api.address}: ${reasonOf(error)}`;
      throw new SkillflowError("tool.failed", message, { cause: error });
    });
    if (status === 404 && method === "GET") return undefined;
    const parsed = isOk ? attempt(() => JSON.parse(text) as Json) : undefined;
    if (parsed !== undefined) return parsed;
    const how = isOk ? `got a response from ${api.address} that is not JSON` : `failed with ${status}`;
    throw new SkillflowError("tool.failed", `${what} ${how}: ${text.slice(0, 300)}`);
  };
  return {
    async repository(): Promise<Json> {
      const found = await send("GET", "");
      if (found !== undefined) return found;
      const message = `${api.name}: GET ${root} failed with 404: it does not exist, or the token cannot read it`;
      throw new SkillflowError("tool.failed", message);
    },
    /** Returns undefined for 404. */
    get: (path: string) => send("GET", path),
    post: (path: string, body: Json) => send("POST", path, body),
    /** Returns a field of a response. Throws if it is not a text. */
    textAt(value: Json | undefined, ...path: readonly (string | number)[]): string {
      const step = (at: unknown, key: string | number) =>
        typeof key === "number" && Array.isArray(at) ? at[key] : memberAt(at, String(key));
      const found: unknown = path.reduce(step, value);
      if (typeof found === "string") return found;
      throw new SkillflowError("tool.failed", `${api.name}: the response has no ${path.join(".")}`);
    },
  };
}

export function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item): item is JsonObject => isObject(item)) : [];
}

export function pathOf(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
