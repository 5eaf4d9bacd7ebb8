import { isObject, type JsonObject } from "../../base/values.ts";
import { numberNames } from "../tool-names.ts";
import { follow, plainSchema, said } from "./schema.ts";

/** API description (OpenAPI 3.0 to 3.2, Swagger 2.0), limited to what read calls need. */

export interface ApiDescription {
  readonly title: string;
  /** Base URL. Undefined if the description has no absolute address. */
  readonly address: string | undefined;
  /** Credentials, all of them required. Empty if none are declared or no combination can be sent. */
  readonly access: readonly Access[];
  readonly operations: readonly ApiOperation[];
}

export type Access =
  | { readonly kind: "bearer" | "basic" }
  | { readonly kind: "header" | "query"; readonly name: string };

export interface ApiOperation {
  /** Unique, valid tool name, such as `list_incidents`. */
  readonly name: string;
  /** `operationId` in the description. */
  readonly id: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly parameters: readonly ApiParameter[];
  /** Reason why the operation cannot become a tool. */
  readonly unfit?: string;
}

export interface ApiParameter {
  /** Unique within the operation. */
  readonly key: string;
  readonly name: string;
  readonly place: "path" | "query" | "header";
  readonly isRequired: boolean;
  readonly schema: JsonObject;
  /** Separator of several values. Undefined if each value is sent separately. */
  readonly between?: string;
  /** True if an object's members are sent as `name[member]`. */
  readonly isDeep?: true;
}

type Fields = { readonly [key: string]: unknown };

const METHODS = ["get", "head", "post", "put", "patch", "delete", "options", "trace"];

/** Reads a description. Returns the reason as a string if it is not one. */
export function describeApi(document: unknown): ApiDescription | string {
  if (!isObject(document)) return "it is not a mapping";
  const version = String(document.openapi ?? document.swagger ?? "");
  if (!/^(?:3\.[012](?:\.|$)|2\.0$)/.test(version))
    return version === ""
      ? "it has neither `openapi` nor `swagger`"
      : `it has version ${said(version, 20)}, not OpenAPI 3 or Swagger 2.0`;
  if (!isObject(document.paths)) return "it has no paths";
  const { title } = isObject(document.info) ? document.info : {};
  const operations = Object.entries(document.paths).flatMap(([path, item]) => operationsAt(document, path, item));
  const names = numberNames(operations.map(({ name }) => name));
  return {
    title: said(title, 80) || "API",
    address: version === "2.0" ? oldAddress(document) : addressOf(document),
    access: accessOf(document),
    operations: operations.map((operation, index) => ({ ...operation, name: names[index] ?? operation.name })),
  };
}

function operationsAt(document: Fields, path: string, given: unknown): ApiOperation[] {
  const item = follow(document, given);
  if (!item || !path.startsWith("/")) return [];
  return METHODS.flatMap((method) => {
    const operation = item[method];
    if (!isObject(operation)) return [];
    const id = typeof operation.operationId === "string" ? operation.operationId : undefined;
    const parameters = parametersOf(document, [...listOf(item.parameters), ...listOf(operation.parameters)]);
    const { summary, description } = operation;
    const words = said(summary) || said(description) || `${method.toUpperCase()} ${path}`;
    const more = said(description, 300);
    return [
      {
        name: toolName(id ?? `${method}_${path}`),
        id,
        method: method.toUpperCase(),
        path,
        summary: more === "" || more.startsWith(words) ? more || words : `${words.replace(/\.$/, "")}. ${more}`,
        parameters: withKeys(parameters.filter((one) => typeof one !== "string")),
        ...unfitOf(method, path, parameters),
      },
    ];
  });
}

function withKeys(parameters: readonly ApiParameter[]): ApiParameter[] {
  const keys = numberNames(parameters.map(({ key }) => key));
  return parameters.map((parameter, index) => ({ ...parameter, key: keys[index] ?? parameter.key }));
}

function unfitOf(method: string, path: string, parameters: readonly (ApiParameter | string)[]): { unfit?: string } {
  if (method !== "get") return { unfit: `${method.toUpperCase()} may write, but the skill only reads` };
  const problem = parameters.find((one) => typeof one === "string");
  if (problem !== undefined) return { unfit: String(problem) };
  const known = new Set(parameters.map((one) => (one as ApiParameter).name));
  const missing = [...path.matchAll(/\{([^{}]*)\}/g)].find(([, name = ""]) => !known.has(name));
  return missing ? { unfit: `its path contains {${missing[1]}}, which is not one of its parameters` } : {};
}

/** Converts `listIncidents` and `incidents/list` to `list_incidents` and `incidents_list`. */
function toolName(text: string): string {
  const words = text.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  return (
    words
      .replace(/[^a-z0-9]+/g, "_")
      .replace(/^_|_$/g, "")
      .slice(0, 50)
      .replace(/_$/, "") || "operation"
  );
}

// ---- parameters

/** Merges parameters: an operation's override its path's. A string explains why a required one cannot be sent. */
function parametersOf(document: Fields, given: readonly unknown[]): (ApiParameter | string)[] {
  const found = new Map<string, Fields>();
  let lost: string | undefined;
  for (const one of given) {
    const parameter = follow(document, one);
    if (parameter && typeof parameter.name === "string") found.set(`${parameter.in} ${parameter.name}`, parameter);
    else lost = "one of its parameters is in another document, or missing";
  }
  const read = [...found.values()].flatMap((parameter) => parameterOf(document, parameter) ?? []);
  return lost === undefined ? read : [...read, lost];
}

/** Headers that the client sets itself. */
const NOT_ASKED = /^(?:accept|content-type|authorization|user-agent|cookie)$/i;

function parameterOf(document: Fields, parameter: Fields): ApiParameter | string | undefined {
  const { name, in: place, required } = parameter;
  const isRequired = required === true || place === "path";
  if (typeof name !== "string" || (place === "header" && NOT_ASKED.test(name))) return undefined;
  if (place !== "path" && place !== "query" && place !== "header")
    return isRequired ? `it needs ${said(name, 60)} as a ${said(place, 20) || "parameter without a kind"}` : undefined;
  const plain = name.replace(/[^\w-]+/g, "_").replace(/^_+|(?<!_)_+$/g, "");
  const key = plain.slice(0, 60) || "value";
  const schema = plainSchema(document, parameter.schema ?? parameter);
  const described = said(parameter.description);
  const whole = described === "" || schema.description !== undefined ? schema : { ...schema, description: described };
  return { key, name, place, isRequired, schema: whole, ...styleOf(parameter, place) };
}

function styleOf(
  { style, explode, collectionFormat }: Fields,
  place: string,
): Pick<ApiParameter, "between" | "isDeep"> {
  if (style === "deepObject") return { isDeep: true };
  if (style === "spaceDelimited" || collectionFormat === "ssv") return { between: " " };
  if (style === "pipeDelimited" || collectionFormat === "pipes") return { between: "|" };
  const isOld = typeof collectionFormat === "string";
  if (place !== "query" || explode === false || (isOld && collectionFormat !== "multi")) return { between: "," };
  return {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

// ---- address and authentication

function addressOf({ servers }: Fields): string | undefined {
  const [server] = listOf(servers);
  if (!isObject(server) || typeof server.url !== "string") return undefined;
  const variables = isObject(server.variables) ? server.variables : {};
  const filled = server.url.replace(/\{([^{}]+)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return isObject(variable) && typeof variable.default === "string" ? variable.default : whole;
  });
  return wholeAddress(filled);
}

function oldAddress({ host, basePath, schemes }: Fields): string | undefined {
  if (typeof host !== "string") return undefined;
  const scheme = listOf(schemes).includes("https") || listOf(schemes).length === 0 ? "https" : "http";
  return wholeAddress(`${scheme}://${host}${typeof basePath === "string" ? basePath : ""}`);
}

function wholeAddress(text: string): string | undefined {
  if (!/^https?:\/\/[^\s{}]+$/i.test(text) || !URL.canParse(text)) return undefined;
  const { origin, pathname, username } = new URL(text);
  return username === "" ? `${origin}${pathname}`.replace(/(?<!\/)\/+$/, "") : undefined;
}

/** Returns the first supported security requirement, as most operations use it. */
function accessOf(document: Fields): readonly Access[] {
  const { components, securityDefinitions, security, paths } = document;
  const declared = isObject(components) ? components.securitySchemes : securityDefinitions;
  const schemes = isObject(declared) ? declared : {};
  const ways = [...listOf(security), ...Object.values(isObject(paths) ? paths : {}).flatMap(waysAt)];
  for (const way of ways.length > 0 ? ways : Object.keys(schemes).map((name) => ({ [name]: [] }))) {
    const names = isObject(way) ? Object.keys(way) : [];
    const read = names.map((name) =>
      oneAccess(follow(document, Object.hasOwn(schemes, name) ? schemes[name] : undefined)),
    );
    const sent = read.filter((one) => one !== undefined);
    if (names.length > 0 && sent.length === names.length) return sent;
  }
  return [];
}

function waysAt(item: unknown): readonly unknown[] {
  const { get } = isObject(item) ? item : {};
  return isObject(get) ? listOf(get.security) : [];
}

function oneAccess(scheme: Fields | undefined): Access | undefined {
  const { type, name } = scheme ?? {};
  const way = String(scheme?.scheme ?? "").toLowerCase();
  if (type === "oauth2" || type === "openIdConnect" || (type === "http" && way === "bearer")) return { kind: "bearer" };
  if (type === "basic" || (type === "http" && way === "basic")) return { kind: "basic" };
  const isNamed = typeof name === "string" && /^[\w-]{1,60}$/.test(name);
  if (type !== "apiKey" || !isNamed) return undefined;
  if (scheme?.in === "header" && name.toLowerCase() === "authorization") return { kind: "bearer" };
  return scheme?.in === "header" || scheme?.in === "query" ? { kind: scheme.in, name } : undefined;
}
