import * as z from "zod";

/** Parameter whose text matches a pattern and, if given, has at most `longest` characters. */
export function textLike(pattern: RegExp, longest?: number): z.ZodString {
  return (longest === undefined ? z.string() : z.string().max(longest)).regex(pattern);
}

/** Field of an answer that counts as absent if it has an unexpected type, so that it does not fail the whole result. */
export function lenient<Field extends z.ZodType>(field: Field) {
  return field.nullish().catch(undefined);
}
