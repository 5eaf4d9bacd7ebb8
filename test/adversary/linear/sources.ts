import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";

/** The text handling of a source file of the product: its patterns, and the exported functions that take text. */

export interface Pattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

export interface TextFunction {
  readonly file: string;
  readonly name: string;
  /** A value for each parameter, and the indexes that the text replaces. */
  readonly parameters: readonly unknown[];
  readonly at: number;
  /** Short texts that its file names: what it looks for. */
  readonly words: readonly string[];
}

export interface Sources {
  readonly patterns: readonly Pattern[];
  readonly functions: readonly TextFunction[];
  /** Functions that take a text, and something else that the check cannot make up. */
  readonly left: readonly string[];
}

type Node = { type: string; [key: string]: unknown };

/** Programs and workers: they start to work when they are loaded. */
const STARTED = /^src\/(bin|load)\.ts$|\/(main|worker|child|inside|thread)\.ts$|\.test\.ts$/;

export function readSources(): Sources {
  const patterns: Pattern[] = [];
  const functions: TextFunction[] = [];
  const left: string[] = [];
  for (const file of ["src", "skills"].flatMap(filesIn)) {
    const program = parseAst(readFileSync(file, "utf8"), { lang: "ts" }, file) as unknown as Node;
    const words = new Set<string>();
    visit(program, (node) => {
      if (node.type !== "Literal") return;
      const regex = node.regex as { pattern: string; flags: string } | undefined;
      if (regex) patterns.push({ file, source: regex.pattern, flags: regex.flags });
      else if (typeof node.value === "string" && /^\W{1,6}$|^\W*\w{1,8}\W+$/.test(node.value)) words.add(node.value);
    });
    if (STARTED.test(file)) continue;
    for (const found of exportedFunctions(program)) {
      const types = found.params.map(typeOf);
      const texts = types.flatMap((type, index) => (TEXTS.has(type) ? [index] : []));
      if (texts.length === 0) continue;
      const values = types.map((type) => VALUES.get(type));
      if (types.some((type) => !VALUES.has(type))) left.push(`${file} ${found.name}`);
      else
        for (const at of texts) functions.push({ file, name: found.name, parameters: values, at, words: [...words] });
    }
  }
  return { patterns, functions, left };
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts"))
    .map((name) => join(folder, name))
    .sort();
}

function visit(node: Node, seen: (node: Node) => void): void {
  seen(node);
  for (const value of Object.values(node)) {
    for (const inner of Array.isArray(value) ? value : [value]) {
      if (inner && typeof inner === "object" && typeof inner.type === "string") visit(inner, seen);
    }
  }
}

function* exportedFunctions(program: Node): Generator<{ name: string; params: Node[] }> {
  for (const statement of program.body as Node[]) {
    if (statement.type !== "ExportNamedDeclaration" || !statement.declaration) continue;
    const declared = statement.declaration as Node;
    if (declared.type === "FunctionDeclaration") {
      yield { name: (declared.id as { name: string }).name, params: declared.params as Node[] };
    }
    for (const { id, init } of (declared.declarations ?? []) as { id: { name: string }; init?: Node }[]) {
      if (init?.type === "ArrowFunctionExpression") yield { name: id.name, params: init.params as Node[] };
    }
  }
}

const TEXTS = new Set(["string", "unknown", "Json"]);

/** A value of each type that the check can make up. What is optional is left out. */
const VALUES = new Map<string, unknown>([
  ["string", "name"],
  ["unknown", "name"],
  ["Json", "name"],
  ["number", 80],
  ["boolean", false],
  ["string[]", ["name"]],
  ["optional", undefined],
]);

/** A parameter's type in the words of `VALUES`; all others are "other". */
function typeOf(param: Node): string {
  if (param.type === "AssignmentPattern" || param.optional) return "optional";
  const annotation = (param.typeAnnotation as { typeAnnotation: Node } | undefined)?.typeAnnotation;
  return annotation ? nameOf(annotation) : "other";
}

function nameOf(type: Node): string {
  switch (type.type) {
    case "TSStringKeyword":
      return "string";
    case "TSUnknownKeyword":
      return "unknown";
    case "TSNumberKeyword":
      return "number";
    case "TSBooleanKeyword":
      return "boolean";
    case "TSTypeReference":
      return (type.typeName as { name?: string }).name === "Json" ? "Json" : "other";
    case "TSTypeOperator":
      return nameOf(type.typeAnnotation as Node);
    case "TSArrayType":
      return nameOf(type.elementType as Node) === "string" ? "string[]" : "other";
    case "TSUnionType": {
      const names = (type.types as Node[]).map(nameOf);
      return names.includes("string") ? "string" : names.some((name) => VALUES.has(name)) ? "optional" : "other";
    }
    case "TSUndefinedKeyword":
      return "optional";
    default:
      return "other";
  }
}
