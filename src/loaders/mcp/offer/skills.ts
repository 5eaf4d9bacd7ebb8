import type { Skill } from "@modelcontextprotocol/client/ext/skills";
import { attempt, messageOf, SkillflowError } from "../../../core/base/errors.ts";
import { LONGEST_TIMER_MS } from "../../../core/base/values.ts";
import type { ToolContext } from "../../../core/skill/skill.ts";
import { textOfFile } from "../../folder/bundled-files.ts";
import { unlessAborted } from "../../text/bounded.ts";
import { reach, type Server } from "../server.ts";
import type { OfferedSkill } from "../server-types.ts";
import { quote } from "./tools.ts";

const MOST_SKILLS = 200;
/** Limits of the extension for one skill. */
const MOST_FILES = 512;
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_INSTRUCTION = 1024 * 1024;
/** Limit of the SKILL.md files of all of a server's skills, which a node may get together. */
const MOST_INSTRUCTIONS = 4 * MOST_INSTRUCTION;
const MOST_READ = 256 * 1024;
const MOST_FAULT = 300;

/** Lists the server's skills. Names an invalid one, and why it is left out, in a warning. */
export async function listSkills(
  server: Server,
  { signal, warn }: { readonly signal: AbortSignal; readonly warn: (message: string) => void },
): Promise<readonly OfferedSkill[]> {
  const client = await (await server()).skills();
  if (!client) return [];
  const asked = client.list({}, { signal, timeout: LONGEST_TIMER_MS });
  const listed = await unlessAborted(asked, signal).catch((error: unknown) => {
    warn(`does not list its skills: ${messageOf(error).slice(0, MOST_FAULT)}`);
    return { skills: [], invalid: [] };
  });
  for (const { uri = "", reason } of listed.invalid.slice(0, MOST_SKILLS)) {
    warn(`lists the skill ${quote(uri)}, which is left out: ${reason.slice(0, MOST_FAULT)}`);
  }
  if (listed.skills.length > MOST_SKILLS) warn(`lists more than ${MOST_SKILLS} skills: the rest is left out`);
  const entries = listed.skills.slice(0, MOST_SKILLS);
  const names = entries.map(({ frontmatter }) => frontmatter.name);
  const isRepeated = (name: string) => names.indexOf(name) !== names.lastIndexOf(name);
  let total = 0;
  return entries.map((entry) => {
    const { name } = entry.frontmatter;
    const fault = isRepeated(name) ? "several skills of the server have this name" : faultOf(entry);
    if (fault === undefined) total += manifestSize(entry);
    const isOver = total > MOST_INSTRUCTIONS ? "the server's texts are too long together" : undefined;
    return offered(server, entry, fault ?? isOver);
  });
}

function faultOf({ uri, resources }: Skill): string | undefined {
  if (resources === "dynamic") return "its files are generated (dynamic), so their digests cannot be checked";
  if (resources.length > MOST_FILES) return `it has more than ${MOST_FILES} files`;
  const bytes = resources.reduce((sum, { size }) => sum + size, 0);
  if (bytes > MOST_BYTES) return `its files have more than ${MOST_BYTES} bytes`;
  return manifestSize({ uri, resources }) > MOST_INSTRUCTION
    ? `its SKILL.md has more than ${MOST_INSTRUCTION} bytes`
    : undefined;
}

function manifestSize({ uri, resources }: Pick<Skill, "uri" | "resources">): number {
  if (resources === "dynamic") return 0;
  return resources.find((file) => pathOf(file.uri, uri) === MANIFEST)?.size ?? 0;
}

function offered(server: Server, entry: Skill, fault: string | undefined): OfferedSkill {
  const { uri, frontmatter, resources } = entry;
  const listed = resources === "dynamic" || fault !== undefined ? [] : resources;
  const files = new Map(listed.map((file) => [pathOf(file.uri, uri), file.uri]));
  const fetch = (place: string | undefined, { signal }: Pick<ToolContext, "signal">) =>
    reach(server, {
      context: { signal },
      isReading: true,
      async ask(session) {
        const client = await session.skills();
        if (!client) throw new Error("it no longer declares the skills extension");
        return unlessAborted(client.read(entry, place, { signal, timeout: LONGEST_TIMER_MS }), signal);
      },
    });
  return {
    uri,
    name: frontmatter.name,
    description: frontmatter.description,
    digests: Object.fromEntries(listed.map((file) => [file.uri, file.digest])),
    files: [...files.keys()].filter((path): path is string => path !== undefined && path !== MANIFEST),
    fault,
    instruction: async (context) => (await fetch(undefined, context)).body?.trim() ?? "",
    async read(path, context) {
      const place = files.get(path);
      if (place === undefined) throw new SkillflowError("input.invalid", `${path} is not a file of this skill`);
      const { bytes } = await fetch(place, context);
      return textOfFile(path, bytes.subarray(0, MOST_READ), bytes.length);
    },
  };
}

const MANIFEST = "SKILL.md";

/** Returns the path of a file below its skill's folder. Undefined if it cannot be shown as one line. */
function pathOf(file: string, skill: string): string | undefined {
  const folder = new URL(skill).href.slice(0, -MANIFEST.length);
  const path = attempt(() => decodeURIComponent(new URL(file).href.slice(folder.length)));
  return path === undefined || path.length > MOST_FAULT || /[\p{Cc}\p{Cf}]/u.test(path) ? undefined : path;
}
