import type { Resource } from "@modelcontextprotocol/server";
import type { Skill, SkillSource } from "@modelcontextprotocol/server/ext/skills";
import { attempt } from "../../core/base/errors.ts";
import type { Publication, PublishedSkill } from "../publishing/published.ts";
import { decodedText } from "./resources.ts";

/** Skills as the skills extension of MCP serves them (SEP-2640): `skill://<id>/SKILL.md` and the other files. */

const SKILLS = "skill://";

/** Reads from the publication that is collected while the first clients connect. */
export function skillSource(
  publication: () => Promise<Publication>,
): SkillSource & Required<Pick<SkillSource, "listResources">> {
  const entries = async () => {
    const { skills } = await publication();
    return (await Promise.all([...skills.values()].map(entryOf))).filter((entry) => entry !== undefined);
  };
  return {
    list: async () => ({ skills: await entries() }),
    async get(uri) {
      const { entry } = (await find(publication, uri)) ?? {};
      return entry?.uri === uri ? entry : undefined;
    },
    async read(uri) {
      const found = await find(publication, uri);
      if (!found?.path) return undefined;
      const bytes = await found.skill.read(found.path);
      const text = decodedText(bytes);
      return text === undefined
        ? { bytes }
        : { text, mimeType: found.path.endsWith(".md") ? "text/markdown" : "text/plain" };
    },
    listResources: async () => (await entries()).map(describe),
  };
}

function describe({ uri, frontmatter: { name, description } }: Skill): Resource {
  return { uri, name, description, mimeType: "text/markdown" };
}

/** Returns the entry, or undefined if the skill's files changed so that they can no longer be published. */
function entryOf(skill: PublishedSkill): Promise<Skill | undefined> {
  return skill.entry().catch(() => undefined);
}

/** Finds the skill of an address, and the path of the file in it. */
async function find(publication: () => Promise<Publication>, address: string) {
  const canonical = canonicalOf(address);
  if (!canonical?.startsWith(SKILLS)) return undefined;
  const [id = ""] = canonical.slice(SKILLS.length).split("/");
  const skill = (await publication()).skills.get(id);
  const entry = skill && (await entryOf(skill));
  if (!entry || entry.resources === "dynamic") return undefined;
  const listed = entry.resources.find(({ uri }) => canonicalOf(uri) === canonical);
  const segments = listed?.uri.slice(SKILLS.length + id.length + 1).split("/") ?? [];
  return { skill, entry, path: segments.map(decodeURIComponent).join("/") };
}

function canonicalOf(uri: string): string | undefined {
  return attempt(() => new URL(uri).href);
}
