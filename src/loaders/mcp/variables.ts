import type { Environment } from "../../core/document/config.ts";
import type { McpAuth, McpServerConfig } from "../../core/skill/skill.ts";

/** `${NAME}` in the header of a server that is asked over HTTP stands for a variable that its mcp.env declares. */

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

export function variablesIn(header: string): string[] {
  return [...header.matchAll(VARIABLE)].map((match) => match[1] ?? "");
}

export function fillVariables(header: string, env: Environment): string {
  return header.replace(VARIABLE, (_, name: string) => env[name] ?? "");
}

/** The variables that leave for a server by its address. */
export function handedVariables({ headers = {}, env = {} }: McpServerConfig): readonly string[] {
  const named = Object.values(headers).flatMap(variablesIn);
  return [...new Set(named.filter((name) => Object.hasOwn(env, name)))];
}

/** The variables that hold what a client proves itself with. */
export function variablesOf(auth: McpAuth | undefined): readonly string[] {
  if (auth === undefined) return [];
  const name = auth.type === "private_key_jwt" ? auth.key : auth.secret;
  return name === undefined ? [] : [name];
}
