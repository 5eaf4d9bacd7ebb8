import { messageOf } from "../core/errors.ts";
import { parseYaml, type YamlText } from "./yaml-text.ts";

/** JSON, and nothing that only YAML allows, of an author who may mean harm: with the places of its parts. */
export function parseJsonText(text: string): YamlText {
  const json = text.replace(/^\uFEFF/, "");
  const parsed = parseYaml(json);
  if (parsed.problems.length > 0) return parsed;
  try {
    return { ...parsed, value: JSON.parse(json) };
  } catch (error) {
    const problem = { message: messageOf(error), ...placeOf(json, messageOf(error)) };
    return { value: undefined, problems: [problem], position: () => ({}) };
  }
}

/** Where the engine says that it stopped, in the words of either of its versions. */
function placeOf(text: string, message: string) {
  const offset = /at position (\d+)/.exec(message)?.[1];
  const before = text.slice(0, offset === undefined ? text.length : Number(offset)).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
