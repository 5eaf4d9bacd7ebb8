/** Members of objects, named in one string. Such lists keep schemas and results of services short. */

/** Words of a string that are separated by single spaces. */
type Words<Line extends string> = Line extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Line;

/** Gives several members the same value: `each("text", "name status")` is `{ name: "text", status: "text" }`. */
export function each<const Value, Names extends string>(value: Value, names: Names): Record<Words<Names>, Value> {
  return Object.fromEntries(names.split(" ").map((name) => [name, value])) as Record<Words<Names>, Value>;
}

/** Returns the named members of an object: `pick(issue, "title state")` is `{ title, state }` of the issue. */
export function pick<Whole extends object, const Names extends string>(
  whole: Whole,
  names: Words<Names> extends keyof Whole ? Names : never,
): Pick<Whole, Words<Names> & keyof Whole> {
  const members = names.split(" ").map((name) => [name, whole[name as keyof Whole]]);
  return Object.fromEntries(members) as Pick<Whole, Words<Names> & keyof Whole>;
}
