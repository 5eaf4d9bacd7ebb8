import { inputError, messageOf, SkillflowError } from "../../core/base/errors.ts";
import { compileSchema } from "../../core/base/schema/schema.ts";
import { type JsonObject, lazy } from "../../core/base/values.ts";
import type { Tool } from "../../core/skill/skill.ts";
import { type Auth, openAuth } from "./login/auth.ts";
import type { AuthPlaces } from "./login/logins.ts";
import type { Links } from "./offer/links.ts";
import { promptReader } from "./offer/prompts.ts";
import { resourceReader } from "./offer/resources.ts";
import { readResult } from "./offer/results.ts";
import { listSkills } from "./offer/skills.ts";
import { type ListedTool, quote, saidOf } from "./offer/tools.ts";
import { reach, type Server } from "./server.ts";
import type { ServerOptions } from "./server-types.ts";
import { httpUrl, openSession, type Session } from "./session.ts";

export interface McpOptions extends ServerOptions {
  /** Time limit for connecting and listing together. At most 30 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Refuses calls of tools that have changed since they were listed. */
  readonly isLocked?: boolean;
  /** Adds tools that read the server's resources and prompts. `Links` holds the URIs that may be read. */
  readonly links?: Links;
  /** Storage of tokens and login prompts. Without it, a server with `auth` cannot be used. */
  readonly auth?: AuthPlaces;
}

interface ServedTool extends Tool, Pick<ListedTool, "digest"> {}

export type McpConnection = Awaited<ReturnType<typeof openMcp>>;

const CONNECT_MS = 30_000;
/** Time limit for optional lists of a connected server. */
const LIST_MS = 5000;

/**
 * Connects to a skill's MCP server and lists its tools. Throws an Error that says why the server cannot be used. If the
 * connection is lost later, the next call reconnects.
 */
export async function openMcp(options: McpOptions) {
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const auth = await authOf(options, signal);
  const timeoutMs = Math.min(options.timeoutMs ?? CONNECT_MS, CONNECT_MS);
  const settings = { ...options, timeoutMs, signal, auth };
  const first = await openSession(settings);
  auth?.endLogins();
  let current = Promise.resolve(first);
  const server: Server = async () => {
    const session = await current.catch(() => undefined);
    if (session?.isOpen()) return session;
    stop.signal.throwIfAborted();
    const again = current;
    await session?.close();
    if (current === again) current = openSession(settings);
    return current.catch((error: unknown) => {
      const what = `the MCP server was lost and cannot be connected again: ${messageOf(error)}`;
      throw new SkillflowError("server.failed", what, { acted: "no" });
    });
  };
  const readers = await readersOf(server, first, options);
  const skills = await listSkills(server, { signal: deadlineOf(options), warn: options.onWarning });
  return {
    /** Tools that the server listed when it was connected. */
    tools: first.tools.map((tool) => connectTool(server, tool, options)),
    /** Tools that read the server's resources and prompts, if it declares any. */
    readers,
    /** Skills that the server listed when it was connected, with those that cannot be used. */
    skills,
    /** Resolves when the server's process group is gone or its session has ended. */
    close: lazy(async () => {
      stop.abort(new Error("the run is over"));
      const session = await current.catch(() => undefined);
      await session?.close();
    }),
  };
}

async function authOf(
  { id, config, env, fetch, auth: places }: McpOptions,
  signal: AbortSignal,
): Promise<Auth | undefined> {
  if (config.auth === undefined) return undefined;
  if (config.command !== undefined) throw new Error("auth is only for servers with a url, and this one is a command");
  if (!places) throw new Error("auth is only allowed in your own config file");
  return openAuth({ ...places, id, config: config.auth, server: httpUrl(config.url), env, fetch, signal });
}

/** Returns tools that read resources and prompts, unless the server's own tools use their names. */
async function readersOf(server: Server, session: Session, options: McpOptions): Promise<readonly Tool[]> {
  const { config, links, isLocked = false, onWarning: warn } = options;
  if (!links) return [];
  const listing = { isLocked, signal: deadlineOf(options), warn };
  const said = saidOf(config);
  const readers = [
    resourceReader(server, session, { said, links }),
    await promptReader(server, session, { said, links, ...listing }),
  ];
  const isTaken = ({ name }: Tool) => session.tools.some((tool) => tool.name === name);
  return readers.filter((reader) => reader !== undefined).filter((reader) => !isTaken(reader));
}

function deadlineOf({ timeoutMs = CONNECT_MS, signal }: McpOptions): AbortSignal {
  const deadline = AbortSignal.timeout(Math.min(timeoutMs, LIST_MS));
  return signal ? AbortSignal.any([signal, deadline]) : deadline;
}

function connectTool(server: Server, tool: ListedTool, { isLocked, links }: McpOptions): ServedTool {
  return {
    ...tool,
    async handler(input: JsonObject, context) {
      const result = await reach(server, {
        context,
        isReading: tool.effect === "read",
        async ask(session, onAsked) {
          await session.refresh(context);
          const now = checkStillThere(session, tool, input);
          if (isLocked && now.digest !== tool.digest) throw changed(tool);
          onAsked();
          return session.call(tool, input, context);
        },
      });
      return readResult(result, { hasSchema: tool.output_schema !== undefined, links, blobs: context.blobs });
    },
  };
}

/** Returns the tool's current version. The server may have removed or changed it during the run. */
function checkStillThere(session: Session, tool: ListedTool, input: JsonObject): ListedTool {
  const now = session.tools.find((other) => other.name === tool.name);
  if (!now) throw new SkillflowError("tool.unknown", `the MCP server no longer offers the tool ${quote(tool.name)}`);
  if (JSON.stringify(now.input_schema) === JSON.stringify(tool.input_schema)) return now;
  const problems = compileSchema(now.input_schema)(input);
  if (problems.length === 0) return now;
  throw inputError(`invalid input: ${problems.join("; ")} (the MCP server changed this tool's input)`);
}

function changed({ name }: ListedTool): SkillflowError {
  const what = `the MCP server has changed the tool ${quote(name)} since the run began, and skillflow.lock pins the earlier one`;
  return new SkillflowError("call.refused", what);
}
