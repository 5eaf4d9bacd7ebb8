import { defined, isObject, type JsonObject, type JsonSchema } from "../../core/base/values.ts";
import type { ToolDescriptor } from "../../core/skill/skill.ts";
import texts from "./parameter-texts.json" with { type: "json" };

/**
 * Descriptions of parameters that built-in tools leave out, because the text of their skill explains them. MCP clients read
 * no such text. A key is a parameter, or a skill or a tool and a parameter; the longest key that fits counts.
 */
const TEXTS: Readonly<Record<string, string>> = texts;

/** The input schema of a built-in tool with a description for each parameter; `others` are the tools of its skill. */
export function describedInput(tool: ToolDescriptor, others: readonly ToolDescriptor[]): JsonSchema {
  const textOf = (path: string): string | undefined => {
    const { skill, name } = tool;
    const keys = [`${skill}.${name}.${path}`, `${skill}.${path}`, path];
    const key = keys.find((each) => Object.hasOwn(TEXTS, each));
    return key === undefined ? textAmong(others, path) : TEXTS[key];
  };
  return described(tool.input_schema, "", textOf) as JsonSchema;
}

function textAmong(tools: readonly ToolDescriptor[], path: string): string | undefined {
  for (const { input_schema } of tools) {
    const own = isObject(input_schema.properties) ? input_schema.properties[path] : undefined;
    if (isObject(own) && typeof own.description === "string") return own.description;
  }
  return undefined;
}

function described(schema: unknown, path: string, textOf: (path: string) => string | undefined): unknown {
  if (Array.isArray(schema)) return schema.map((each) => described(each, path, textOf));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    if (NESTED.has(key)) return [key, described(value, path, textOf)];
    const parts = isObject(value) ? Object.entries(value) : [];
    if (key === "$defs")
      return [key, Object.fromEntries(parts.map(([name, def]) => [name, described(def, name, textOf)]))];
    return [key, key === "properties" ? Object.fromEntries(parts.map(describeOne(path, textOf))) : value];
  });
  return Object.fromEntries(entries);
}

const NESTED: ReadonlySet<string> = new Set(["items", "anyOf", "oneOf", "allOf"]);

function describeOne(path: string, textOf: (path: string) => string | undefined) {
  return ([name, property]: [string, unknown]): [string, unknown] => {
    const place = path === "" ? name : `${path}.${name}`;
    const inner = described(property, place, textOf) as JsonObject;
    const isBare = isObject(inner) && typeof inner.description !== "string";
    return [name, isBare ? { ...inner, ...defined("description", textOf(place)) } : inner];
  };
}
