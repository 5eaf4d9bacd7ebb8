import { SkillflowError } from "../../../core/base/errors.ts";
import { withoutEnd } from "../../../core/base/preview.ts";
import { isObject, type Json, type JsonObject } from "../../../core/base/values.ts";

/** Requests to the API of a forge. */

export interface Api {
  readonly name: string;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
}

/** Sends a request. Returns undefined for 404 to a read. Never follows a redirect with the token. */
export async function send(
  api: Api,
  method: "GET" | "POST",
  [path, body]: readonly [string, Json?],
): Promise<Json | undefined> {
  const response = await api.fetch(`${withoutEnd(api.address, "/")}/${path}`, {
    method,
    headers: {
      ...api.headers,
      "user-agent": "skillflow",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: "manual",
    signal: api.signal,
  });
  const text = await response.text();
  if (response.status === 404 && method === "GET") return undefined;
  if (!response.ok) {
    throw new SkillflowError(
      "tool.failed",
      `${api.name}: ${method} ${path.split("?")[0]} failed with ${response.status}: ${text.slice(0, 300)}`,
    );
  }
  return JSON.parse(text) as Json;
}

/** Returns a field of a response. Throws if it is not a text. */
export function textAt(api: Api, value: Json | undefined, ...path: readonly (string | number)[]): string {
  let found: Json | undefined = value;
  for (const name of path) {
    if (Array.isArray(found)) found = found[Number(name)];
    else found = isObject(found) ? (found as JsonObject)[String(name)] : undefined;
  }
  if (typeof found === "string") return found;
  throw new SkillflowError("tool.failed", `${api.name}: the response has no ${path.join(".")}`);
}

/** Returns the objects of a list in a response. */
export function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter((item): item is JsonObject => isObject(item)) : [];
}

export function pathOf(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
