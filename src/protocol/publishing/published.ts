import { statSync } from "node:fs";
import type { Skill } from "@modelcontextprotocol/server/ext/skills";
import type { Workspace } from "../../app/host.ts";
import { listFiles, readFileOf, readFiles } from "../../app/skills/published-files.ts";
import type { SkillEntry } from "../../app/workspace.ts";
import { messageOf } from "../../core/base/errors.ts";

/** Skills that other programs can read, over MCP and at a well-known address. Digests always match the files on disk. */

export type PublishedSkill = ReturnType<typeof publish>;

export interface Publication {
  /** Skills that could be published at the start, sorted by id. */
  readonly skills: ReadonlyMap<string, PublishedSkill>;
  /** Reasons why other folders of skills are not published. Those built in are mentioned only as instances. */
  readonly warnings: readonly string[];
}

/** Publishes the available skills with a SKILL.md whose name and files follow the rules of Agent Skills. */
export async function publishSkills(entries: readonly SkillEntry[], skills: Workspace["skills"]): Promise<Publication> {
  const published = new Map<string, PublishedSkill>();
  const skipped = skills.diagnostics.filter(({ code }) => code === "SKILL_SKIPPED");
  const refused: { readonly id: string; readonly isBuiltin: boolean; readonly message: string }[] = [];
  for (const { skill, source, unavailable } of entries) {
    const directory = source.path;
    if (unavailable !== undefined || directory === null) continue;
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) continue;
    try {
      const one = publish(skill.id, directory);
      await one.entry();
      published.set(skill.id, one);
    } catch (error) {
      refused.push({ id: skill.id, isBuiltin: source.kind === "builtin", message: messageOf(error) });
    }
  }
  // An instance has the files of its skill, which is published if it is available itself.
  const isSaid = (id: string) => id.includes("@") && !published.has(id.split("@", 1)[0] ?? "");
  const warnings = refused
    .filter(({ id, isBuiltin }) => !isBuiltin || isSaid(id))
    .map(({ id, message }) => `${id}: its files are not offered to other programs: ${message}`);
  return { skills: published, warnings: [...skipped.map(({ file, message }) => `${file}: ${message}`), ...warnings] };
}

function publish(id: string, directory: string) {
  let known: { readonly stamp: string; readonly entry: Skill } | undefined;
  const readAll = async () => readFiles(directory, await listFiles(directory));
  return {
    id,
    readAll,
    read: (path: string) => readFileOf(directory, path),
    /** Returns the entry of the skills extension of MCP. Throws if the files cannot be published. */
    async entry(): Promise<Skill> {
      const files = await listFiles(directory);
      const stamp = JSON.stringify(files);
      if (known?.stamp === stamp) return known.entry;
      const { skillEntry } = await import("@modelcontextprotocol/server/ext/skills");
      const contents = await readFiles(directory, files);
      const entry = await skillEntry(id, Object.fromEntries(contents)).catch(explain);
      known = { stamp, entry };
      return entry;
    },
  };
}

/** Replaces the SDK's message, which repeats the name of the skill, by the problems. */
function explain(error: unknown): never {
  const { problems } = error as { readonly problems?: readonly { readonly message: string }[] };
  throw problems ? new Error(problems.map(({ message }) => message).join("; ")) : error;
}
