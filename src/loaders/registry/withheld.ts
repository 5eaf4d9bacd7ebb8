import type { Hint } from "../../core/base/options.ts";
import type { McpServerConfig } from "../../core/skill/skill.ts";
import type { LoadedSkill } from "../folder/format.ts";
import type { Contents } from "../folder/skill-contents.ts";
import { handedVariables } from "../mcp/variables.ts";
import { isRemembered, type Trust } from "../trust/trust-memory.ts";

/** The parts of a skill that need the operator's trust: its code, and the server that it names. */
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
  /** True if a bare id does not count: a record brings it, or the working directory has other files than the commit. */
  readonly isForeign?: boolean;
}

export interface OwnedServer extends Trustable {
  readonly config: McpServerConfig;
}

export interface Withheld {
  readonly reason: string;
  readonly remedy: Hint;
  /** The withheld parts. Trust is bound to all of them. */
  readonly parts: readonly Contents[];
}

export function heldOf(id: string, { code, server }: Held, trust: Trust): Held {
  return {
    code: code && isTrusted(id, code, trust) ? undefined : code,
    server: server && isTrusted(id, server, trust) ? undefined : server,
  };
}

/** Checks the level, the id, the digest, and the answers that were given to exactly this in this place. */
export function isTrusted(id: string, part: Trustable, trust: Trust): boolean {
  const { level, contents } = part;
  if (level.trusted || (trust.ids.has(id) && !needsDigest(part, trust))) return true;
  const pins = [...(trust.pinned ?? [])].filter((pin) => pin.startsWith(`${id}@`));
  return pins.some((pin) => pin === `${id}@${contents.digest()}`) || isRemembered(trust.remembered, id, contents);
}

function needsDigest({ isForeign }: Trustable, { onlyPinned }: Trust): boolean {
  return isForeign === true || onlyPinned === true;
}

export function describeWithheld(id: string, { code, server }: Held, trust: Trust): Withheld | undefined {
  const held = [code, server].filter((part) => part !== undefined);
  if (held.length === 0) return undefined;
  const parts = [...new Set(held.map(({ contents }) => contents))];
  const names = held.map((part) => (needsDigest(part, trust) ? `${id}@${part.contents.digest()}` : id));
  const options = [...new Set(names)].map((value) => ({ option: "trust-skill", value }) as const);
  const trusting = options.flatMap((option, index) => (index === 0 ? [option] : [" ", option]));
  const runs = code !== undefined || server?.config.command !== undefined;
  const remedy: Hint = [...trusting, runs ? " lets it run" : " connects it"];
  return { reason: `its ${runs ? "code" : "server"} is not trusted`, remedy, parts };
}

export function describeHeldBack({ code, server }: Held): readonly string[] {
  const runs = code ? [...code.loaded.skill.tools.map(({ name }) => `tool ${name}`), ...(code.loaded.code ?? [])] : [];
  return [...runs.map((program) => `runs ${program}`), ...(server ? describeServer(server.config) : [])];
}

function describeServer(server: McpServerConfig): readonly string[] {
  const { command, args = [], url = "", env = {} } = server;
  const [start, variables, receiver] =
    command === undefined
      ? [`connects to ${url}`, handedVariables(server), url]
      : [`runs command ${[command, ...args].join(" ")}`, Object.keys(env), "it"];
  return variables.length === 0 ? [start] : [start, `passes ${variables.join(", ")} to ${receiver}`];
}
