import { isObject, isTexts, type Json, type JsonObject } from "../../core/base/values.ts";
import { invalidParams } from "./json-rpc.ts";

/** Creates a reader of an optional parameter, which throws if the parameter is invalid. */
function reader<Value>(what: string, isValid: (value: Json) => value is Json & Value) {
  return (params: JsonObject, name: string): Value | undefined => {
    const value = params[name];
    if (value === undefined || isValid(value)) return value;
    throw invalidParams(`${name} must be ${what}`);
  };
}

export const optionalText = reader("a string", (value) => typeof value === "string");

export const positiveInteger = reader("a whole number above zero", (value): value is number => {
  return typeof value === "number" && Number.isInteger(value) && value > 0;
});

export const optionalObject = reader<JsonObject>("an object", (value): value is JsonObject => isObject(value));

export const texts = reader<readonly string[]>("a list of strings", isTexts);

export function requiredText(params: JsonObject, name: string): string {
  const value = optionalText(params, name);
  if (value !== undefined) return value;
  throw invalidParams(`${name} is required`);
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
