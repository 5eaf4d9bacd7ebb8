import {
  Composer,
  CST,
  type Document,
  type ErrorCode,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  Parser,
  visit,
  type YAMLMap,
} from "yaml";
import { messageOf } from "../../core/base/errors.ts";
import { countWhile, isNestedBeyond, lazy } from "../../core/base/values.ts";
import { parseQuickYaml, type Spot } from "./quick-yaml.ts";

/** Untrusted YAML 1.2 core or JSON with one document, parsed in about linear time or rejected. */
interface YamlText {
  readonly value: unknown;
  /** If there are problems, there is no value. */
  readonly problems: readonly YamlProblem[];
  /** Returns the place of the deepest existing part of a path. For a member, this is its key. */
  position(path: readonly (string | number)[]): Place;
}

export type YamlProblem = { readonly message: string } & Place;
/** Line and column, starting at 1. */
export interface Place {
  readonly line?: number;
  readonly column?: number;
}

const MOST_DEPTH = 200;
/** Limits anchors and aliases, because resolving one scans everything before it. */
const MOST_REFERENCES = 1000;
const MOST_FAULTS = 100;

/** Parses YAML. Below the key `textBelow`, numbers, booleans and null stay text, spelled as written. */
export function parseYaml(text: string, textBelow?: string): YamlText {
  const quick = parseQuickYaml(text);
  const kept = textBelow === undefined ? undefined : quick?.members?.get(textBelow);
  if (!quick || (kept && !isAllText(kept.spot.value))) return parseWholeYaml(text, textBelow);
  const at = createPlaces(text);
  return { value: quick.value, problems: [], position: (path) => at(offsetOf(quick, path)) };
}

function isAllText(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "string";
  return Object.values(value).every(isAllText);
}

/** Returns the offset of the deepest existing part of a path. */
function offsetOf(root: Spot, path: readonly (string | number)[]): number {
  let [spot, offset] = [root, root.offset];
  for (const key of path) {
    const member = spot.members?.get(String(key));
    const child = member?.spot ?? spot.items?.[Number(key)];
    if (!child) break;
    offset = member?.key ?? child.offset;
    spot = child;
  }
  return offset;
}

/** Creates a lookup of places by offset. It counts the lines on first use, because most documents have no findings. */
export function createPlaces(text: string): (offset: number) => Place {
  const starts = lazy(() => [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]);
  return (offset) => {
    const line = countWhile(starts(), (start) => start <= offset);
    return { line, column: offset - (starts()[line - 1] ?? 0) + 1 };
  };
}

/** Parses any YAML, as `parseYaml` does with what its fast parser leaves. */
export function parseWholeYaml(text: string, textBelow?: string): YamlText {
  const at = createPlaces(text);
  const problem: Complain = (message, offset = 0) => ({ message, ...at(offset) });
  const failed = (...problems: YamlProblem[]): YamlText => ({ value: undefined, problems, position: () => ({}) });

  const composed = composeDocuments(text);
  if ("message" in composed) return failed({ message: composed.message, line: at(composed.offset).line ?? 1 });
  const [document, another] = composed;
  if (!document) return { value: null, problems: [], position: () => ({}) };
  // Most other errors are consequences of the first one. A tab is reported before all others.
  const errors = document.errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
  const error = errors.find(({ code }) => code === "TAB_AS_INDENT") ?? errors[0];
  if (error) {
    const mistake = commonMistake(text, error.pos[0], error.code);
    if (mistake) return failed(problem(...mistake));
    const isOpen = ["MISSING_CHAR", "BAD_INDENT"].includes(error.code);
    const opened = isOpen ? unclosedAt(document, error.pos[0], text) : undefined;
    if (opened !== undefined) return failed(problem("this quote or bracket is not closed", opened));
    return failed(problem(syntaxProblem(error.code), error.pos[0]));
  }
  const problems = another
    ? [problem("a second document begins here; a file may contain only one", another.range[0])]
    : [];
  const warned = document.warnings.map(({ code, pos }) => problem(syntaxProblem(code), pos[0]));
  const found = [...problems, ...warned, ...keyProblems(document, problem)];
  if (found.length > 0) return { value: undefined, problems: found, position: () => ({}) };
  if (textBelow !== undefined) keepSpelling(document, textBelow);
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (isNestedBeyond(MOST_DEPTH, value)) {
      return failed(problem(`nested more than ${MOST_DEPTH} levels deep through aliases`));
    }
    const spot = lazy(() => createSpots(document)(document.contents));
    return { value, problems: [], position: (path) => at(offsetOf(spot(), path)) };
  } catch (error) {
    return failed(problem(messageOf(error)));
  }
}

/** Recognizes mistakes that the parser's own error describes badly. Returns the message and its place. */
function commonMistake(text: string, offset: number, code: ErrorCode): readonly [string, number] | undefined {
  const conflict = text.search(/^(?:<{7}|={7}|>{7})(?= |$)/m);
  if (conflict !== -1) return ["this is a conflict marker of git: resolve the conflict", conflict];
  if (code !== "BLOCK_AS_IMPLICIT_KEY") return undefined;
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const end = text.indexOf("\n", offset);
  const line = text.slice(start, end === -1 ? text.length : end);
  const dash = start + line.search(/\S/);
  if (/^\s*-[^\s-]/.test(line)) return ["a dash needs a space after it: write - VALUE", dash];
  if (/^\s*- /.test(line))
    return ["a list item begins here, but the line before it is not one: begin that line with a dash too", dash];
  // A second key that is not in this line is in the next one, which then has too many spaces.
  if (end !== -1 && !/:(?:\s|$)/.test(text.slice(offset, end))) return [SYNTAX.BAD_INDENT ?? "", end + 1];
  return undefined;
}

/** Finds the quote or bracket that is never closed. */
function unclosedAt(document: Document, offset: number, text: string): number | undefined {
  let opened: number | undefined;
  visit(document, (_, node) => {
    const isOpen = (isScalar(node) && /^QUOTE/.test(node.type ?? "")) || (isCollection(node) && node.flow === true);
    if (!isOpen || !node.range) return;
    const [from, to] = node.range;
    const first = text[from] ?? "";
    const isClosed = to - from > 1 && text[to - 1] === ({ "{": "}", "[": "]" }[first] ?? first);
    if (from < offset && to <= offset && to >= offset - 1 && !isClosed) opened = from;
  });
  return opened;
}

function syntaxProblem(code: ErrorCode): string {
  return SYNTAX[code] ?? NOT_YAML;
}

const NOT_YAML = "this is not YAML: check the indentation, the quotes and the brackets here and in the line before";
/** Messages for authors that include the fix. */
const SYNTAX: { readonly [code in ErrorCode]?: string } = {
  TAB_AS_INDENT: "the indentation has a tab: use spaces only",
  BAD_INDENT: "the indentation does not fit: give this line as many spaces as the other keys of its block",
  MULTILINE_IMPLICIT_KEY: "a key needs a colon and a space after it: write KEY: VALUE, or indent this line further",
  BLOCK_AS_IMPLICIT_KEY:
    "a second key begins in this line: put a value that has a colon in quotes, or indent it below its key",
  BLOCK_IN_FLOW: "a comma or a closing bracket is missing before this",
  BAD_SCALAR_START: "a value without quotes cannot begin with this character: put the value in quotes",
  BAD_DQ_ESCAPE: "a backslash in double quotes begins an unknown escape: write \\\\, or use single quotes",
  MISSING_CHAR: "something is missing here: a colon and a space after a key, or a comma between items",
  TAG_RESOLVE_FAILED: "this tag is unknown: put a value that begins with ! in quotes",
};

function keepSpelling(document: Document, key: string): void {
  const node = isMap(document.contents) ? document.contents.get(key) : undefined;
  if (!isMap(node)) return;
  visit(node, {
    Scalar(place, scalar) {
      if (place === "key" || typeof scalar.value === "string" || !scalar.source) return;
      scalar.value = scalar.source;
    },
  });
}

type Complain = (message: string, offset?: number) => YamlProblem;

/** Parses the documents, or returns the first place beyond a limit before anything recurses or backtracks. */
function composeDocuments(text: string): Document.Parsed[] | { readonly message: string; readonly offset: number } {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  const tooMuch = (message: string) => ({ message, offset: parser.offset });
  let references = 0;
  let before = "";
  let faults = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) {
      tokens.push(token);
      if (token.type === "error") faults++;
    }
    // The first one is reported. To compose each of a million would take half a minute.
    if (faults > MOST_FAULTS) break;
    if (parser.stack.length > MOST_DEPTH) return tooMuch(`nested more than ${MOST_DEPTH} levels deep`);
    if (before !== CST.SCALAR && /^[&*]/.test(lexeme)) references++;
    if (references > MOST_REFERENCES) return tooMuch(`more than ${MOST_REFERENCES} anchors and aliases`);
    before = lexeme;
  }
  tokens.push(...parser.end());
  const options = { version: "1.2", schema: "core", uniqueKeys: false, prettyErrors: false } as const;
  const documents: Document.Parsed[] = [];
  for (const document of new Composer(options).compose(tokens, true, text.length)) {
    documents.push(document as Document.Parsed);
    if (documents.length === 2) break;
  }
  return documents;
}

/** Reports duplicate and unsafe keys in linear time. The parser's own check for duplicates is quadratic. */
function keyProblems(document: Document, problem: Complain): YamlProblem[] {
  const found: YamlProblem[] = [];
  const anchors = new Map<string, unknown>();
  visit(document, (_, node, ancestors) => {
    if (isNode(node) && !isAlias(node) && node.anchor) anchors.set(node.anchor, node);
    if (isAlias(node) && !anchors.has(node.source)) {
      const message = `the alias *${node.source} has no anchor before it: put a value that begins with * in quotes`;
      found.push(problem(message, node.range?.[0]));
    } else if (isAlias(node) && ancestors.includes(anchors.get(node.source) as Node)) {
      found.push(problem(`the alias *${node.source} is inside the value that it names`, node.range?.[0]));
    }
    if (isMap(node)) for (const key of badKeys(node, problem)) found.push(key);
  });
  return found;
}

function badKeys(map: YAMLMap, problem: Complain): YamlProblem[] {
  const seen = new Set<string>();
  return map.items.flatMap(({ key }) => {
    const offset = (key as Node | null)?.range?.[0];
    if (isCollection(key)) return [problem('a key must be text: put a template in quotes, as in "{{path}}"', offset)];
    const name = isScalar(key) ? String(key.value) : isAlias(key) ? `*${key.source}` : "";
    const again = seen.has(name);
    seen.add(name);
    if (name === "__proto__") return [problem('the key "__proto__" is not allowed', offset)];
    return again ? [problem(`the key "${name}" occurs twice in one map`, offset)] : [];
  });
}

/** Creates a function that describes nodes as the fast parser does. An alias has the parts of the node that it names. */
function createSpots(document: Document): (node: unknown) => Spot {
  const known = new Map<unknown, Omit<Spot, "offset">>();
  const partsOf = (node: unknown): Omit<Spot, "offset"> => {
    if (isSeq(node)) return { value: undefined, items: node.items.map(spotOf) };
    const pairs = (isMap(node) ? node.items : []).flatMap(({ key, value }) =>
      isScalar(key) ? [[String(key.value), { key: key.range?.[0] ?? 0, spot: spotOf(value) }] as const] : [],
    );
    return { value: undefined, members: new Map(pairs) };
  };
  const spotOf = (node: unknown): Spot => {
    const named = isAlias(node) ? node.resolve(document) : node;
    const parts = known.get(named) ?? partsOf(named);
    known.set(named, parts);
    return { ...parts, offset: (node as Node | null)?.range?.[0] ?? 0 };
  };
  return spotOf;
}
