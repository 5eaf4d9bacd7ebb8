/** How a skill is named by who wants it: its id, or `id@range` for one of its versions. */
export interface SkillReference {
  readonly id: string;
  /** A version or a range of versions, as written; undefined for the latest. */
  readonly range: string | undefined;
}

/** `fs.search@^1.2` -> id and range. An `@` that begins the name is part of it. */
export function parseSkillReference(text: string): SkillReference {
  const at = text.indexOf("@", 1);
  if (at === -1) return { id: text, range: undefined };
  const range = text.slice(at + 1).trim();
  return { id: text.slice(0, at), range: range === "" || range === "latest" || range === "*" ? undefined : range };
}

/** The skills that there are, asked by reference; listed by id. */
export interface KnownSkills extends Iterable<string> {
  has(reference: string): boolean;
}

/** Why nothing was found. */
export function describeAbsence(reference: string): string {
  const { id, range } = parseSkillReference(reference);
  return range === undefined ? "no skill has this id" : `no skill ${id} has a version that fits ${range}`;
}
