import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  stringify,
  visit,
  type YAMLMap,
} from "yaml";
import { deepEqual, isObject, type Json } from "../../core/base/values.ts";

export interface YamlEdit {
  readonly path: readonly (string | number)[];
  readonly value: Json;
}

interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Sets values in a YAML text. Everything else, including comments, stays unchanged. */
export function editYaml(text: string, edits: readonly YamlEdit[]): string {
  const document = parseDocument(text, { version: "1.2", schema: "core" });
  const splices = edits.flatMap(({ path, value }) => spliceAt(document, text, { path, value }));
  return [...splices]
    .sort((a, b) => b.from - a.from)
    .reduce((edited, { from, to, text: put }) => edited.slice(0, from) + put + edited.slice(to), text);
}

function spliceAt(document: Document, text: string, { path, value }: YamlEdit): Splice[] {
  const node = document.getIn(path, true);
  if (isNode(node)) return replacing(node, value, text);
  const parent = document.getIn(path.slice(0, -1), true);
  return isMap(parent) ? inserting(parent, [String(path.at(-1)), value], text) : [];
}

/** Descends into values whose shape stays the same, to rewrite as little as possible. */
function replacing(node: Node, value: Json, text: string): Splice[] {
  const former = node.toJSON() as Json;
  if (deepEqual(former, value)) return [];
  if (isSeq(node) && Array.isArray(value) && node.items.length === value.length) {
    return node.items.flatMap((item, n) => (isNode(item) ? replacing(item, value[n] as Json, text) : []));
  }
  if (isMap(node) && isObject(value) && deepEqual(Object.keys(former as object).sort(), Object.keys(value).sort())) {
    return node.items.flatMap(({ key, value: item }) =>
      isScalar(key) && isNode(item) ? replacing(item, value[String(key.value)] as Json, text) : [],
    );
  }
  const [from = 0, end = from] = node.range ?? [];
  const to = from + text.slice(from, end).trimEnd().length;
  const comments = commentsIn(node);
  const isFlow = !(isMap(node) || isSeq(node)) || node.flow === true;
  const put = isFlow ? flow(value) : [...comments, stringify(value, { lineWidth: 0 }).trimEnd()].join("\n");
  const column = from - (text.lastIndexOf("\n", from - 1) + 1);
  return [{ from, to, text: put.split("\n").join(`\n${" ".repeat(column)}`) }];
}

function inserting(parent: YAMLMap, [key, value]: readonly [string, Json], text: string): Splice[] {
  const [first] = parent.items;
  const from = first && isNode(first.key) ? first.key.range?.[0] : undefined;
  if (from === undefined) return [];
  const member = `${flow(key)}: ${flow(value)}`;
  if (parent.flow) return [{ from, to: from, text: `${member}, ` }];
  const column = from - (text.lastIndexOf("\n", from - 1) + 1);
  return [{ from, to: from, text: `${member}\n${" ".repeat(column)}` }];
}

function flow(value: Json): string {
  const text = stringify(value, { collectionStyle: "flow", flowCollectionPadding: false, lineWidth: 0 }).trimEnd();
  // A multi-line string has no flow style of its own.
  return /^[|>]/.test(text) ? JSON.stringify(value) : text;
}

function commentsIn(node: Node): string[] {
  const found: string[] = [];
  visit(node, {
    Node(_key, each) {
      for (const comment of [each.commentBefore, each.comment]) {
        if (comment) found.push(...comment.split("\n").map((line) => `#${line}`));
      }
    },
  });
  return found;
}
