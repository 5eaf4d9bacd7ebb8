/** Members of objects, named in one string. Such lists keep schemas and results of services short. */

/** Words of a string that are separated by single spaces. */
type Words<Line extends string> = Line extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Line;

/** Gives several members the same value: `each("text", "name status")` is `{ name: "text", status: "text" }`. */
export function each<const Value, Names extends string>(value: Value, names: Names): Record<Words<Names>, Value> {
  return Object.fromEntries(names.split(" ").map((name) => [name, value])) as Record<Words<Names>, Value>;
}

type NameOf<Word> = Word extends `${infer Name}:${string}` ? Name : Word;
type PathOf<Word> = Word extends `${string}:${infer Path}` ? Path : Word;

/** Value at a path such as `user.name`, or `user?.name` if there may be no user. `never` for an unknown path. */
type At<Whole, Path> = Path extends `${infer First}.${infer Rest}`
  ? First extends `${infer Key}?`
    ? Within<NonNullable<At<Whole, Key>>, Rest, undefined>
    : Within<At<Whole, First>, Rest, never>
  : Path extends keyof Whole
    ? Whole[Path]
    : never;

type Within<Whole, Path, Otherwise> = [Whole] extends [never]
  ? never
  : [At<Whole, Path>] extends [never]
    ? never
    : At<Whole, Path> | Otherwise;

type Unknown<Whole, Word> = Word extends string ? ([At<Whole, PathOf<Word>>] extends [never] ? Word : never) : never;

type Picked<Whole, Word extends string> = { [Each in Word as NameOf<Each> & string]: At<Whole, PathOf<Each>> };

/**
 * Returns members of an object, under other names where given: `pick(issue, "title url:html_url author:user?.login")`
 * is `{ title: issue.title, url: issue.html_url, author: issue.user?.login }`.
 */
export function pick<Whole extends object, const Names extends string>(
  whole: Whole,
  names: [Unknown<Whole, Words<Names>>] extends [never] ? Names : never,
): Picked<Whole, Words<Names>> {
  const members = names.split(" ").map((word) => {
    const [name = "", path = name] = word.split(":");
    return [name, valueAt(whole, path)];
  });
  return Object.fromEntries(members) as Picked<Whole, Words<Names>>;
}

/** Returns true if the value contains the text anywhere, ignoring case. */
export function mentions(value: unknown, text: string | undefined): boolean {
  if (text === undefined) return true;
  return JSON.stringify(value).toLowerCase().includes(JSON.stringify(text).slice(1, -1).toLowerCase());
}

/** Returns the value at a dotted path. Also finds a member whose own name contains dots. */
export function memberAt(root: unknown, path: string): unknown {
  if (typeof root !== "object" || root === null) return undefined;
  const members = root as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(members, path)) return members[path];
  const [first = "", ...rest] = path.split(".");
  return rest.length > 0 && Object.hasOwn(members, first) ? memberAt(members[first], rest.join(".")) : undefined;
}

function valueAt(whole: object, path: string): unknown {
  let value: unknown = whole;
  for (const part of path.split("?.")) {
    if (value === undefined || value === null) return undefined;
    for (const key of part.split(".")) value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}
