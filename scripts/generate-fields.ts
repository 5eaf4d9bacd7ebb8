/** `docs/fields.md`: every field of the documents that users write, from the published JSON Schemas. */

interface Schema {
  readonly [key: string]: unknown;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

/** A document that users write: its title, an introduction, its schema and the names of its parts. */
export interface FieldsOf {
  readonly title: string;
  readonly about: string;
  readonly schema: unknown;
  /** Parts with their own table: the path of the first one, and its name, optionally followed by `: ` and a description. */
  readonly parts: Readonly<Record<string, string>>;
}

const HEAD = `# Fields

Every field of the documents that you write, generated from their schemas by \`npm run generate\`. Editors complete
and check these fields if a file's first line is \`# yaml-language-server: $schema=…/schemas/workflow.json\`
(\`skillflow schema workflow\` prints the schema). *ID* and *NAME* stand for names that you choose.`;

export function fieldsPage(written: readonly FieldsOf[]): string {
  const documents = written.map((document) => ({ ...document, schema: unfolded(document.schema as Schema) }));
  const naming = new Map(
    documents.flatMap(({ schema, parts }) => partsOf(schema, parts).map(([name, part]) => [shapeOf(part), name])),
  );
  for (const { schema } of documents) {
    for (const [key, definition] of Object.entries(schema.$defs ?? {})) {
      const name = naming.get(shapeOf(unfold(definition, schema, [key])));
      if (name !== undefined) naming.set(shapeOf({ $ref: `#/$defs/${key}` }), name);
    }
  }
  return `${[HEAD, ...documents.flatMap((document) => documentSections(document, naming))].join("\n\n")}\n`;
}

/** Replaces references by their targets, except recursive ones. */
function unfolded(schema: Schema): Schema {
  return unfold(schema, schema, []);
}

function unfold<Value>(value: Value, root: Schema, inside: readonly string[]): Value {
  if (Array.isArray(value)) return value.map((item) => unfold(item, root, inside)) as Value;
  if (typeof value !== "object" || value === null) return value;
  const { $ref, ...own } = value as Schema;
  const key = typeof $ref === "string" ? $ref.slice("#/$defs/".length) : undefined;
  const definition = key === undefined || inside.includes(key) ? undefined : root.$defs?.[key];
  if (key !== undefined && definition) return { ...unfold(definition, root, [...inside, key]), ...own } as Value;
  const members = Object.entries(value).map(([name, member]) => {
    return [name, name === "$defs" ? member : unfold(member, root, inside)];
  });
  return Object.fromEntries(members) as Value;
}

/** Returns the parts with their own table. Each shape is described once. */
type Naming = ReadonlyMap<string, string>;

function documentSections({ title, about, schema, parts }: FieldsOf, naming: Naming): string[] {
  const whole = branchesOf(schema as Schema).every((branch) => naming.has(shapeOf(branch)) || branch.items);
  const tables = partsOf(schema as Schema, parts).map(([name, part]) => [`### ${name}`, ...tablesOf(part, naming)]);
  return [`## ${title}`, about, ...(whole ? [] : tablesOf(schema as Schema, naming)), ...tables.flat()];
}

function partsOf(schema: Schema, parts: FieldsOf["parts"]): [name: string, part: Schema][] {
  return Object.entries(parts).map(([path, written]) => {
    const part = at(schema, path.split("."));
    const [name = "", description] = written.split(": ");
    return [name, description === undefined ? part : { ...part, description }];
  });
}

/** Follows `nodes.ID.eval.[]`: a member of all, an element, or a property; `#1` is the second of several shapes. */
function at(schema: Schema, path: readonly string[]): Schema {
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  const branches = branchesOf(schema);
  const branch = key.startsWith("#") ? branches[Number(key.slice(1))] : undefined;
  if (branch) return at(branch, rest);
  const next = branches
    .map(({ items, additionalProperties, properties }) => {
      if (key === "[]") return items;
      return key === "ID" ? (additionalProperties as Schema | undefined) : properties?.[key];
    })
    .find((found) => found !== undefined);
  if (next === undefined) throw new Error(`no schema has ${path.join(".")}`);
  return at(next, rest);
}

/** Returns one table, or one for each kind of value. */
function tablesOf(schema: Schema, naming: Naming): string[] {
  const shapes = branchesOf(schema).filter(({ properties }) => properties !== undefined);
  const about = shapes[0] === schema ? "" : sentence(schema.description);
  const lead = about === "" ? [] : [about];
  if (shapes.length < 2 || !shapes.every(({ properties }) => properties?.kind)) {
    return [...lead, table(unionRows(shapes, "", naming))];
  }
  const kinds = shapes.flatMap((shape) => {
    const { kind } = shape.properties ?? {};
    return [`\`kind: ${kind?.const}\`: ${kind?.description}.`, table(rowsOf(shape, "", naming))];
  });
  return [...lead, ...kinds];
}

/** Merges a field of several shapes into one row. The field is required if all shapes require it. */
function unionRows(shapes: readonly Schema[], prefix: string, naming: Naming): Row[] {
  const byField = new Map<string, Row[]>();
  for (const row of shapes.flatMap((shape) => rowsOf(shape, prefix, naming))) {
    byField.set(row[0], [...(byField.get(row[0]) ?? []), row]);
  }
  return [...byField.values()].map((same) => {
    const [field, , , about] = same[0] as Row;
    const types = new Set(same.map(([, type]) => type));
    const isRequired = same.length === shapes.length && same.every(([, , required]) => required);
    return [field, [...types].join(" or "), isRequired, about];
  });
}

type Row = readonly [field: string, type: string, required: boolean, about: string];

function rowsOf({ properties = {}, required = [] }: Schema, prefix: string, naming: Naming): Row[] {
  return Object.entries(properties).flatMap(([key, member]): Row[] => {
    const field = prefix + key;
    const row: Row = [field, typeOf(member, naming), required.includes(key), member.description ?? ""];
    return [row, ...innerRows(member, field, naming)];
  });
}

/** Returns the rows of a member without its own table. */
function innerRows(member: Schema, field: string, naming: Naming): Row[] {
  if (naming.has(shapeOf(member))) return [];
  const branches = branchesOf(member).filter((branch) => !naming.has(shapeOf(branch)));
  const outer = branches.flatMap(({ items, additionalProperties: each }) => {
    if (items) return innerRows(items, `${field}[]`, naming);
    return typeof each === "object" ? innerRows(each, `${field}.NAME`, naming) : [];
  });
  const shapes = branches.filter(({ properties }) => properties !== undefined);
  return [...unionRows(shapes, `${field}.`, naming), ...outer];
}

function branchesOf(schema: Schema): readonly Schema[] {
  return schema.properties !== undefined ? [schema] : (schema.anyOf ?? schema.oneOf ?? [schema]);
}

function typeOf(schema: Schema, naming: Naming): string {
  const name = naming.get(shapeOf(schema));
  if (name !== undefined) return `[${name}](#${name.toLowerCase().replaceAll(" ", "-")})`;
  if (schema.const !== undefined) return code(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map(code).join(", ");
  if (schema.type === "array") return schema.items ? `list of ${typeOf(schema.items, naming)}` : "list";
  if (schema.type === "object") {
    const { additionalProperties: each } = schema;
    return typeof each === "object" && each.type !== undefined ? `map of ${typeOf(each, naming)}` : "map";
  }
  if (typeof schema.type === "string") return schema.type;
  const options = schema.properties === undefined ? (schema.anyOf ?? schema.oneOf) : undefined;
  return options ? [...new Set(options.map((option) => typeOf(option, naming)))].join(" or ") : "any";
}

/** Returns a schema's identity, without its description. */
function shapeOf({ description: _, ...shape }: Schema): string {
  return JSON.stringify(shape);
}

function code(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

function sentence(text = ""): string {
  return text === "" ? "" : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(([field, type, required, about]) => {
    return `| \`${field}\` | ${cell(type)} | ${required ? "yes" : ""} | ${cell(about)} |`;
  });
  return ["| Field | Type | Required | Description |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
