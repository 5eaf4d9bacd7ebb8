/** Fast parser for the YAML subset that nearly every SKILL.md uses. */

const LINE = /^([A-Za-z][\w-]*):(?:[ ]+(.*))?$/;
const NESTED = /^ {2}([A-Za-z][\w-]*):[ ]+(.*)$/;
/** Unquoted text that begins with a letter and has no special meaning in YAML. */
const PLAIN = /^[A-Za-z](?:[^\s:#]|[:#](?=[^\s])|[ ](?=[^\s#]))*$/;
const QUOTED = /^(?:"([^"\\]*)"|'([^']*)')$/;
/** List of words on one line. */
const LIST = /^\[ ?([A-Za-z][\w-]*(?:, ?[A-Za-z][\w-]*)*) ?\]$/;
/** Words that YAML does not read as text. */
const TYPED = /^(?:true|false|null|True|False|Null|TRUE|FALSE|NULL)$/;

type Fields = { readonly [key: string]: string | readonly string[] | Fields };

/**
 * Parses a map of strings, lists of words and maps of strings, one per line, with the same result as the YAML parser.
 * Returns undefined for anything else.
 */
export function parsePlainYaml(text: string): Fields | undefined {
  const fields = new Map<string, string | readonly string[] | Map<string, string>>();
  let nested: Map<string, string> | undefined;
  for (const line of text.split("\n")) {
    const [, inner, innerValue = ""] = NESTED.exec(line) ?? [];
    const [, key, value = ""] = inner === undefined ? (LINE.exec(line) ?? []) : [];
    const scalar = scalarOf(inner === undefined ? value : innerValue);
    if (inner !== undefined) {
      if (!nested || nested.has(inner) || scalar === undefined) return undefined;
      nested.set(inner, scalar);
    } else {
      if (nested?.size === 0 || key === undefined || fields.has(key)) return undefined;
      nested = value === "" ? new Map() : undefined;
      const found = nested ?? scalar ?? wordsOf(value);
      if (found === undefined) return undefined;
      fields.set(key, found);
    }
  }
  if (nested?.size === 0 || fields.size === 0) return undefined;
  const entries = [...fields].map(([key, value]) => [key, value instanceof Map ? Object.fromEntries(value) : value]);
  return Object.fromEntries(entries) as Fields;
}

function scalarOf(text: string): string | undefined {
  const quoted = QUOTED.exec(text);
  if (quoted) return quoted[1] ?? quoted[2];
  return PLAIN.test(text) && !TYPED.test(text) ? text : undefined;
}

function wordsOf(text: string): readonly string[] | undefined {
  const words = LIST.exec(text)?.[1]?.split(/, ?/);
  return words?.some((word) => TYPED.test(word)) ? undefined : words;
}
