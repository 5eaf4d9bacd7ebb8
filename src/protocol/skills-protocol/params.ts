import { isObject, type JsonObject } from "../../core/base/values.ts";
import { invalidParams } from "./json-rpc.ts";

/** Readers for a method's parameters. Each throws if its parameter is invalid. */

export function requiredText(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value === "string") return value;
  throw invalidParams(value === undefined ? `${name} is required` : `${name} must be a string`);
}

export function optionalText(params: JsonObject, name: string): string | undefined {
  return params[name] === undefined ? undefined : requiredText(params, name);
}

export function choice<Choice extends string>(
  params: JsonObject,
  name: string,
  choices: readonly [Choice, ...Choice[]],
) {
  const value = optionalText(params, name) ?? choices[0];
  const found = choices.find((one) => one === value);
  if (found !== undefined) return found;
  throw invalidParams(`${name} must be one of ${choices.join(", ")}`);
}

export function positiveInteger(params: JsonObject, name: string): number | undefined {
  const value = params[name];
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value > 0) return value;
  throw invalidParams(`${name} must be a whole number above zero`);
}

export function optionalObject(params: JsonObject, name: string): JsonObject | undefined {
  const value = params[name];
  if (value === undefined) return undefined;
  if (isObject(value)) return value as JsonObject;
  throw invalidParams(`${name} must be an object`);
}

export function texts(params: JsonObject, name: string): readonly string[] {
  const value = params[name];
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value as string[];
  throw invalidParams(`${name} must be a list of strings`);
}
