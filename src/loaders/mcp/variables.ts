import type { Environment } from "../../core/document/config.ts";
import type { McpAuth, McpServerConfig } from "../../core/skill/skill.ts";

/** Variables in HTTP headers: `${NAME}` is replaced by a variable that the server's `mcp.env` declares. */

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

export function variablesIn(header: string): string[] {
  return [...header.matchAll(VARIABLE)].map((match) => match[1] ?? "");
}

export function fillVariables(header: string, env: Environment): string {
  return header.replace(VARIABLE, (_, name: string) => env[name] ?? "");
}

/** Returns the variables whose values are sent to a server in its headers. */
export function handedVariables({ headers = {}, env = {} }: McpServerConfig): readonly string[] {
  const named = Object.values(headers).flatMap(variablesIn);
  return [...new Set(named.filter((name) => Object.hasOwn(env, name)))];
}

/** Returns the variables that contain a client's credentials. */
export function variablesOf(auth: McpAuth | undefined): readonly string[] {
  if (auth === undefined) return [];
  const name = auth.type === "private_key_jwt" ? auth.key : auth.secret;
  return name === undefined ? [] : [name];
}
