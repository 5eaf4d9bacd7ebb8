import { SkillflowError } from "../../../core/base/errors.ts";
import { isObject, type Json } from "../../../core/base/values.ts";
import type { Tool, ToolContext } from "../../../core/skill/skill.ts";
import { reach, type Server } from "../server.ts";
import type { Session } from "../session.ts";
import { readBlocks, readLink } from "./blocks.ts";
import { type Links, LONGEST_URI, READ_RESOURCE } from "./links.ts";
import { quote, type Said } from "./tools.ts";

const DESCRIPTION =
  "Reads a resource of this server by its `uri`: one that a result linked or held, or that the server lists. Without `uri`, returns the list.";

/** Creates the tool that reads a server's resources. Returns undefined if the server has none. */
export function resourceReader(
  server: Server,
  session: Session,
  { said, links }: { readonly said: Said; readonly links: Links },
): Tool | undefined {
  if (!session.has("resources")) return undefined;
  return {
    ...ownReader(READ_RESOURCE, said),
    description: DESCRIPTION,
    input_schema: {
      type: "object",
      properties: { uri: { type: "string", minLength: 1, maxLength: LONGEST_URI } },
      additionalProperties: false,
    },
    handler: ({ uri }: { readonly uri?: string }, context) => {
      const ask = (session: Session) =>
        uri === undefined ? listResources(session, links, context) : readResource(session, { uri, links }, context);
      return reach(server, { context, isReading: true, ask });
    },
  };
}

/** Describes a built-in tool for a server. It only reads, unless the server's config overrides that. */
export function ownReader(name: string, { effects = {}, ...reach }: Said) {
  const effect = Object.hasOwn(effects, name) ? (effects[name] ?? "read") : "read";
  return { name, effect, idempotent: true, ...reach } as const;
}

const MOST_LISTED = 1000;
const MOST_TOLD = 200;

async function listResources(session: Session, links: Links, { signal }: ToolContext): Promise<Json> {
  const { listed, isCut } = await session.list("resources", MOST_LISTED, signal);
  const resources = listed
    .filter(isObject)
    .slice(0, MOST_TOLD)
    .map((entry) => readLink(entry, links));
  const isWhole = !isCut && listed.length <= MOST_TOLD;
  return isWhole ? { resources } : { resources, left_out: "there are more than are listed here" };
}

async function readResource(
  session: Session,
  { uri, links }: { readonly uri: string; readonly links: Links },
  { signal, blobs }: ToolContext,
): Promise<Json> {
  if (!links.has(uri) && !(await isListed(session, uri, signal))) {
    const what = `this server has neither linked nor listed ${quote(uri)}: read only what it links or lists`;
    throw new SkillflowError("call.refused", what);
  }
  const { contents } = await session.request("resources/read", { uri }, signal);
  if (!Array.isArray(contents)) throw new Error("it answers resources/read without contents");
  const blocks = contents.filter(isObject).map((resource) => ({ type: "resource", resource }));
  const read = await readBlocks(blocks, { links, blobs });
  const [only, ...others] = read;
  return only !== undefined && others.length === 0 && typeof only.text === "string" ? only.text : read;
}

/** Checks whether the server lists a resource. A server that fails to list counts as listing nothing. */
async function isListed(session: Session, uri: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { listed } = await session.list("resources", MOST_LISTED, signal);
    return listed.some((entry) => isObject(entry) && entry.uri === uri);
  } catch (error) {
    if (signal.aborted || session.lossBy(error) !== undefined) throw error;
    return false;
  }
}
