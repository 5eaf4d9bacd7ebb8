import * as z from "zod";

/** Parts of PostgREST's self-description, an OpenAPI 2 document, that are used here. */

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

export type Api = NonNullable<ReturnType<typeof parseApi>>;
export type ApiTable = Api["tables"][number];

/** Parses the description. Returns undefined if it has another form. */
export function parseApi(body: unknown) {
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

function columnOf(name: string, found: Property, required: boolean) {
  const [, table, column] = /<fk table='([^']*)' column='([^']*)'\/>/.exec(found.description ?? "") ?? [];
  const description = found.description?.replace(/(?<!\s)\s*Note:\nThis is a (Primary|Foreign) Key[\s\S]*$/, "");
  return {
    name,
    type: typeOf(found),
    required: required || undefined,
    default: found.default,
    primary_key: found.description?.includes("<pk/>") || undefined,
    // In the form `table.column`.
    references: table === undefined ? undefined : `${table}.${column}`,
    enum: found.enum,
    max_length: found.maxLength,
    description: description || undefined,
  };
}

function functionOf(name: string, post: z.infer<typeof operation> | undefined) {
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
