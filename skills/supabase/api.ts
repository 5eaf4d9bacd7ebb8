import * as z from "zod";

/** Part of PostgREST's self-description, an OpenAPI 2 document, that is used here. */
export interface Api {
  readonly tables: readonly ApiTable[];
  readonly functions: readonly ApiFunction[];
}

export interface ApiTable {
  readonly name: string;
  readonly description: string | undefined;
  readonly columns: readonly ApiColumn[];
}

interface ApiColumn {
  readonly name: string;
  readonly type: string;
  readonly required: true | undefined;
  readonly default: unknown;
  readonly primary_key: true | undefined;
  /** Target in the form `table.column`. */
  readonly references: string | undefined;
  readonly enum: readonly unknown[] | undefined;
  readonly max_length: number | undefined;
  readonly description: string | undefined;
}

interface ApiFunction {
  readonly name: string;
  readonly description: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
}

const property = z.object({
  type: z.string().optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  maxLength: z.number().optional(),
});
type Property = z.infer<typeof property>;

const shape = z.object({
  properties: z.record(z.string(), property).optional(),
  required: z.array(z.string()).optional(),
  description: z.string().optional(),
});

const operation = z.object({
  summary: z.string().optional(),
  description: z.string().optional(),
  parameters: z.array(z.object({ in: z.string().optional(), schema: shape.optional() })).optional(),
});

const document = z.object({
  definitions: z.record(z.string(), shape).optional(),
  paths: z.record(z.string(), z.object({ post: operation.optional() })),
});

/** Parses the description. Returns undefined if it has another form. */
export function parseApi(body: unknown): Api | undefined {
  const { data, success } = document.safeParse(body);
  if (!success) return undefined;
  const tables = Object.entries(data.definitions ?? {}).filter(([name]) => Object.hasOwn(data.paths, `/${name}`));
  const calls = Object.entries(data.paths).filter(([path]) => path.startsWith("/rpc/"));
  return {
    tables: tables.map(([name, { description, properties = {}, required = [] }]) => ({
      name,
      description,
      columns: Object.entries(properties).map(([column, found]) => columnOf(column, found, required.includes(column))),
    })),
    functions: calls.map(([path, { post }]) => functionOf(path.slice("/rpc/".length), post)),
  };
}

function columnOf(name: string, found: Property, required: boolean): ApiColumn {
  const [, table, column] = /<fk table='([^']*)' column='([^']*)'\/>/.exec(found.description ?? "") ?? [];
  const description = found.description?.replace(/(?<!\s)\s*Note:\nThis is a (Primary|Foreign) Key[\s\S]*$/, "");
  return {
    name,
    type: typeOf(found),
    required: required || undefined,
    default: found.default,
    primary_key: found.description?.includes("<pk/>") || undefined,
    references: table === undefined ? undefined : `${table}.${column}`,
    enum: found.enum,
    max_length: found.maxLength,
    description: description || undefined,
  };
}

function functionOf(name: string, post: z.infer<typeof operation> | undefined): ApiFunction {
  const { properties = {}, required = [] } = post?.parameters?.find((found) => found.in === "body")?.schema ?? {};
  const parameters = Object.entries(properties).map(([parameter, found]) => [
    parameter,
    `${typeOf(found)}${required.includes(parameter) ? "" : ", optional"}`,
  ]);
  const description = [post?.summary, post?.description].filter((text) => text).join("\n");
  return { name, description: description || undefined, parameters: Object.fromEntries(parameters) };
}

function typeOf({ format, type }: Property): string {
  return format ?? type ?? "unknown";
}
