/**
 * What a report says, as data. Texts are as they were recorded: each writer escapes and shortens them for its medium,
 * in one place.
 */

export type Tone = "success" | "degraded" | "failed" | "waiting" | "skipped" | "active" | "info";

/**
 * Piece of a line. `own` is text of this program: no writer escapes it for Markdown. `verse` keeps its line breaks, all
 * other styles are one line. `ref` is the reference of a call or an operation. `command` is a command line without the
 * program's name. `link` is an address, which becomes a link only if `isAddress` accepts it.
 */
export interface Span {
  readonly style:
    | "own"
    | "text"
    | "verse"
    | "code"
    | "strong"
    | "struck"
    | "dim"
    | "quote"
    | "badge"
    | "ref"
    | "command"
    | "link";
  readonly text: string;
  readonly tone?: Tone;
  /** Anchor on a report page. Writers without anchors ignore it. */
  readonly to?: string;
}

export type Words = readonly Span[];

export interface Item {
  readonly words: Words;
  readonly tone?: Tone;
  /** Reason, shown after the item or below it. */
  readonly why?: Words;
  readonly parts?: readonly Block[];
}

export interface List {
  readonly kind: "list";
  /** Title of the list. Markdown repeats it at each item. */
  readonly title?: string;
  /** Purpose, by which a page styles the list. */
  readonly look?: "claims" | "cites" | "done" | "waiting" | "undone" | "tasks";
  readonly items: readonly Item[];
}

export interface Section {
  readonly kind: "section";
  readonly title: Words;
  /** Anchor of the section, shown before its title: `op-1`. */
  readonly id?: string;
  /** Sections with a tone stand out, and have no heading. */
  readonly tone?: Tone;
  readonly parts: readonly Block[];
}

export type Fact = readonly [term: string, words: Words];

export type Block =
  | { readonly kind: "text"; readonly words: Words; readonly tone?: Tone }
  | { readonly kind: "facts"; readonly rows: readonly Fact[] }
  | { readonly kind: "table"; readonly columns: readonly string[]; readonly rows: readonly (readonly Words[])[] }
  | {
      readonly kind: "code";
      readonly text: string;
      readonly language: "json" | "text" | "diff";
      readonly name?: string;
      /** Part of the text to mark. */
      readonly quote?: string;
    }
  | List
  | Section;

/** Builds a line from a template. Its literal parts are this program's own words, its values are untrusted text. */
export function words(strings: TemplateStringsArray, ...values: readonly (string | number | Span | Words)[]): Words {
  const spans = strings.flatMap((own, index): Span[] => {
    const value = values[index];
    const shown: Words =
      value === undefined ? [] : typeof value === "object" ? [value].flat() : [{ style: "text", text: String(value) }];
    return own === "" ? [...shown] : [{ style: "own", text: own }, ...shown];
  });
  return spans;
}

export function span(style: Span["style"], text: string, to?: string): Span {
  return { style, text, ...(to === undefined ? {} : { to }) };
}

export const code = (text: string) => span("code", text);
export const strong = (text: string) => span("strong", text);
export const command = (text: string) => span("command", text);
export const badge = (text: string, tone: Tone): Span => ({ style: "badge", text, tone });

/** Formats text between backticks as code. Writers trim each text, so that spaces next to code need their own spans. */
export function codeIn(text: string): Words {
  return text.split(/ ?`/).flatMap((piece, index) => {
    if (index % 2 === 1) return [span("own", " "), span("code", piece)];
    return [...(index > 0 && /^\s/.test(piece) ? [span("own", " ")] : []), span("text", piece)];
  });
}

/** Joins lines with a separator. Leaves out those that are undefined. */
export function joinWords(lines: readonly (Words | undefined)[], separator = " · "): Words {
  return lines
    .filter((line) => line !== undefined)
    .flatMap((line, index) => (index === 0 ? line : [span("own", separator), ...line]));
}

export function text(line: Words, tone?: Tone): Block {
  return { kind: "text", words: line, ...(tone === undefined ? {} : { tone }) };
}

export function list(items: readonly Item[], about: Pick<List, "title" | "look"> = {}): Block[] {
  return items.length === 0 ? [] : [{ kind: "list", items, ...about }];
}

export function facts(rows: readonly (Fact | undefined)[]): Block[] {
  const known = rows.filter((row) => row !== undefined);
  return known.length === 0 ? [] : [{ kind: "facts", rows: known }];
}

/** Returns a row, or undefined for a missing text. */
export function fact(term: string, value: string | undefined): Fact | undefined {
  return value === undefined ? undefined : [term, words`${value}`];
}

export function section(
  title: Words,
  parts: readonly Block[],
  about: Omit<Section, "kind" | "title" | "parts"> = {},
): Section {
  return { kind: "section", title, parts, ...about };
}
