import { attempt } from "../errors.ts";
import { isObject } from "../values.ts";

/**
 * Reports whether a schema of plain keywords is surely valid, as draft-07 and as 2020-12, without compiling the
 * metaschema, which costs more than the schemas of a run. False says nothing: the metaschema decides.
 */
export function isPlainSchema(schema: unknown): boolean {
  if (!isObject(schema)) return typeof schema === "boolean";
  return Object.entries(schema).every(([keyword, rule]) => {
    const isValid = Object.hasOwn(VALID, keyword) ? VALID[keyword] : undefined;
    return isValid?.(rule) ?? false;
  });
}

const TYPES: readonly unknown[] = ["array", "boolean", "integer", "null", "number", "object", "string"];

const isText = (rule: unknown): rule is string => typeof rule === "string";
const isCount = (rule: unknown) => Number.isInteger(rule) && Number(rule) >= 0;
const isSet = (rule: unknown, isItem: (item: unknown) => boolean, least = 1) =>
  Array.isArray(rule) && rule.length >= least && new Set(rule).size === rule.length && rule.every(isItem);
const arePlain = (rule: unknown) => isObject(rule) && Object.values(rule).every(isPlainSchema);

const VALID: Readonly<Record<string, (rule: unknown) => boolean>> = {
  $defs: arePlain,
  $ref: (rule) => isText(rule) && /^#\/\$defs\/\w+$/.test(rule),
  title: isText,
  description: isText,
  format: isText,
  default: () => true,
  const: () => true,
  type: (rule) => TYPES.includes(rule) || isSet(rule, (name) => TYPES.includes(name)),
  enum: (rule) => isSet(rule, (value) => typeof value !== "object" || value === null),
  pattern: (rule) => isText(rule) && !rule.includes("\\Z") && attempt(() => new RegExp(rule, "u")) !== undefined,
  minimum: Number.isFinite,
  maximum: Number.isFinite,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  items: isPlainSchema,
  propertyNames: isPlainSchema,
  additionalProperties: isPlainSchema,
  properties: arePlain,
  required: (rule) => isSet(rule, isText, 0),
  anyOf: (rule) => Array.isArray(rule) && rule.length > 0 && rule.every(isPlainSchema),
};
