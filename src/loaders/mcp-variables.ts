import type { Environment } from "../core/config.ts";
import type { McpServerConfig } from "../core/skill.ts";

/** `${NAME}` in the header of a server that is asked over HTTP stands for a variable that its mcp.env declares. */

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

export function variablesIn(header: string): string[] {
  return [...header.matchAll(VARIABLE)].map((match) => match[1] ?? "");
}

export function fillVariables(header: string, env: Environment): string {
  return header.replace(VARIABLE, (_, name: string) => env[name] ?? "");
}

export interface Handed {
  readonly headers: readonly string[];
  readonly variables: readonly string[];
}

/** The variables that would leave for a server by its address, and the headers that they stand in. */
export function handedVariables({ headers = {}, env = {} }: McpServerConfig): Handed {
  const handed = Object.entries(headers).flatMap(([header, value]) => {
    const variables = variablesIn(value).filter((name) => Object.hasOwn(env, name));
    return variables.length === 0 ? [] : [{ header, variables }];
  });
  return {
    headers: handed.map(({ header }) => header),
    variables: [...new Set(handed.flatMap(({ variables }) => variables))],
  };
}

/** The server without the headers that name variables. */
export function withoutVariables(server: McpServerConfig): McpServerConfig {
  const { headers } = handedVariables(server);
  const left = Object.entries(server.headers ?? {}).filter(([header]) => !headers.includes(header));
  return headers.length === 0 ? server : { ...server, headers: Object.fromEntries(left) };
}
