import { isObject, type Json, type JsonObject, stringsIn } from "../../base/values.ts";

/**
 * Leaves out the fields of a result that repeat the call's own arguments: those that the tool declares, or else the
 * fields whose value is a string of the input. Fields of the result's records are kept.
 */
export function withoutEchoes(output: Json, input: Json, echoes: readonly string[] | undefined): Json {
  if (!isObject(output)) return output;
  const sent = echoes ? undefined : new Set(stringsIn(input));
  const kept = Object.entries(output as JsonObject).filter(([name, value]) => {
    return echoes ? !echoes.includes(name) : !(typeof value === "string" && value !== "" && sent?.has(value));
  });
  return Object.fromEntries(kept);
}
