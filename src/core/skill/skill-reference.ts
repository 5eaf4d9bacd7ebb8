/** Reference to a skill: its id, or `id@range` for some of its versions. */
export interface SkillReference {
  readonly id: string;
  /** Version or range, as written. Undefined for the latest. */
  readonly range: string | undefined;
}

/** Splits `fs.search@^1.2` into id and range. A leading `@` is part of the name. */
export function parseSkillReference(text: string): SkillReference {
  const at = text.indexOf("@", 1);
  if (at === -1) return { id: text, range: undefined };
  const range = text.slice(at + 1).trim();
  return { id: text.slice(0, at), range: range === "" || range === "latest" || range === "*" ? undefined : range };
}

/** A skill that an MCP server offers. */
export interface RemoteReference {
  /** Id of the skill with the server. */
  readonly server: string;
  readonly name: string;
}

/** Splits `docs/disk-full` into server and name. Returns undefined for ids without a slash, which are never remote. */
export function parseRemote(reference: string): RemoteReference | undefined {
  const slash = reference.indexOf("/");
  return slash < 1 ? undefined : { server: reference.slice(0, slash), name: reference.slice(slash + 1) };
}

/** Skills that exist. Iterates over their ids. */
export interface KnownSkills extends Iterable<string> {
  has(reference: string): boolean;
}

/** Describes why no skill matches a reference. */
export function describeAbsence(reference: string): string {
  const { id, range } = parseSkillReference(reference);
  return range === undefined ? "no skill has this id" : `no version of the skill ${id} matches ${range}`;
}
