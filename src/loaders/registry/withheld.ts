import type { McpServerConfig } from "../../core/skill.ts";
import type { LoadedSkill } from "../folder/format.ts";
import type { Contents } from "../folder/skill-contents.ts";
import { handedVariables } from "../mcp/variables.ts";
import { isRemembered, type Trust } from "../trust-memory.ts";

/** What of a skill waits for the operator's word (trust 6): its code, and the server that is named for it. */
export interface Held {
  /** The folder whose code waits; undefined where none does. */
  readonly code: (Trustable & { readonly loaded: LoadedSkill }) | undefined;
  /** The server that is neither started nor asked; undefined where none waits. */
  readonly server: OwnedServer | undefined;
}

/** Something that a checkout may hold: who vouches for it, and what a yes is bound to. */
interface Trustable {
  readonly level: { readonly trusted: boolean };
  readonly contents: Contents;
}

export interface OwnedServer extends Trustable {
  readonly config: McpServerConfig;
}

export interface Withheld {
  readonly reason: string;
  readonly remedy: string;
  /** What waits: a yes is bound to all of it. */
  readonly parts: readonly Contents[];
}

/** What is left once everything that somebody vouches for is taken away. */
export function heldOf(id: string, { code, server }: Held, trust: Trust): Held {
  return {
    code: code && isTrusted(id, code, trust) ? undefined : code,
    server: server && isTrusted(id, server, trust) ? undefined : server,
  };
}

/** By its level, by id, or by an answer that was given to exactly this in this place. */
export function isTrusted(id: string, { level, contents }: Trustable, { ids, remembered }: Trust): boolean {
  return level.trusted || ids.has(id) || isRemembered(remembered, id, contents);
}

/** Undefined where nothing is held back. */
export function describeWithheld(id: string, { code, server }: Held): Withheld | undefined {
  const parts = [...new Set([code, server].flatMap((part) => (part ? [part.contents] : [])))];
  if (code !== undefined || server?.config.command !== undefined) {
    return { reason: "its code is not trusted", remedy: `--trust-skill ${id} lets it run`, parts };
  }
  if (server === undefined) return undefined;
  return { reason: "its server is not trusted", remedy: `--trust-skill ${id} connects it`, parts };
}

/** What would happen if nothing were held back, in words. */
export function describeHeldBack({ code, server }: Held): readonly string[] {
  const runs = code ? [...code.loaded.skill.tools.map(({ name }) => `tool ${name}`), ...(code.loaded.code ?? [])] : [];
  return [...runs.map((program) => `runs ${program}`), ...(server ? describeServer(server.config) : [])];
}

function describeServer(server: McpServerConfig): readonly string[] {
  const { command, args = [], url = "", env = {} } = server;
  const [start, variables, receiver] =
    command === undefined
      ? [`asks ${url}`, handedVariables(server), url]
      : [`runs command ${[command, ...args].join(" ")}`, Object.keys(env), "it"];
  return variables.length === 0 ? [start] : [start, `hands ${variables.join(", ")} to ${receiver}`];
}
