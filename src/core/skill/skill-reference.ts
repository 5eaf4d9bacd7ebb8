/** Reference to a skill: its id, which may be that of an instance, or `id@range` for some of its versions. */
export interface SkillReference {
  readonly id: string;
  /** Version or range, as written. Undefined for the latest. */
  readonly range: string | undefined;
}

/** Name of an instance. A range of versions has a digit or an operator first. */
export const INSTANCE_NAME = /^(?!latest$)[a-z][a-z0-9-]{0,31}$/;

/** Splits `prometheus@eu` into the skill's id and the name of its instance, if it has the form of one. */
export function instanceOf(id: string): { readonly skill: string; readonly name: string } | undefined {
  const at = id.lastIndexOf("@");
  const name = id.slice(at + 1);
  return at > 0 && INSTANCE_NAME.test(name) ? { skill: id.slice(0, at), name } : undefined;
}

/** Splits `fs.search@^1.2` into id and range. A leading `@` and the name of an instance are parts of the id. */
export function parseSkillReference(text: string): SkillReference {
  return instanceOf(text) ? { id: text, range: undefined } : parseRange(text);
}

/** Splits a reference at its first `@`, even if an instance could have the name that follows. */
export function parseRange(text: string): SkillReference {
  const at = text.indexOf("@", 1);
  if (at === -1) return { id: text, range: undefined };
  const range = text.slice(at + 1).trim();
  return { id: text.slice(0, at), range: range === "" || range === "latest" || range === "*" ? undefined : range };
}

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

export function describeAbsence(reference: string): string {
  const instance = instanceOf(reference);
  if (instance) return `the skill ${instance.skill} has no instance or version ${instance.name}`;
  const { id, range } = parseSkillReference(reference);
  return range === undefined ? "no skill has this id" : `no version of the skill ${id} matches ${range}`;
}
