/** The YAML that nearly every SKILL.md is written in, read fast. */

const LINE = /^([A-Za-z][\w-]*):(?:[ ]+(.*))?$/;
const NESTED = /^ {2}([A-Za-z][\w-]*):[ ]+(.*)$/;
/** Text without quotes: begins with a letter, and holds nothing that means anything to YAML. */
const PLAIN = /^[A-Za-z](?:[^\s:#]|[:#](?=[^\s])|[ ](?=[^\s#]))*$/;
const QUOTED = /^(?:"([^"\\]*)"|'([^']*)')$/;
/** A list of words in one line. */
const LIST = /^\[ ?([A-Za-z][\w-]*(?:, ?[A-Za-z][\w-]*)*) ?\]$/;
/** Words that are no text. */
const TYPED = /^(?:true|false|null|True|False|Null|TRUE|FALSE|NULL)$/;

type Fields = { readonly [key: string]: string | readonly string[] | Fields };

/**
 * A map of texts, of lists of words, and of maps of texts, one to a line: the same that the whole language would give.
 * Undefined for anything else, which is then to be read as YAML.
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
