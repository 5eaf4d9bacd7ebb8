import { isObject, type Json, type JsonObject } from "../../../core/base/values.ts";
import type { RunEvent } from "../../../core/engine/event/event.ts";
import type { RunRecord } from "../../../core/engine/event/record.ts";

/** URIs that may be read from a server: only those that it linked or listed itself. */
export type Links = ReturnType<typeof openLinks>;

export const READ_RESOURCE = "read_resource";
export const READ_PROMPT = "read_prompt";
export const LONGEST_URI = 2048;
const MOST_LINKS = 10_000;

/** Creates the links. `known` are those in results that were recorded before the server was connected. */
export function openLinks(known: Iterable<string> = []) {
  const links = new Set<string>();
  const add = (uri: string) => {
    if (uri.length <= LONGEST_URI && links.size < MOST_LINKS) links.add(uri);
  };
  for (const uri of known) add(uri);
  return { has: (uri: string) => links.has(uri), add };
}

/** Collects the links in a run's results, by the skill whose server returned them. */
export function recordedLinks({ skills }: Pick<RunRecord, "skills">, events: readonly RunEvent[]) {
  const tools = new Map(
    skills.flatMap(({ id, tools }) => tools.map(({ exposed, name }) => [exposed, { id, name }] as const)),
  );
  const links = new Map<string, string[]>();
  for (const event of events) {
    const tool = event.type === "tool:result" ? tools.get(event.tool) : undefined;
    if (event.type !== "tool:result" || tool === undefined || event.output === undefined) continue;
    links.set(tool.id, [...(links.get(tool.id) ?? []), ...linksIn(event.output, tool.name)]);
  }
  return links;
}

/** Returns the links in a result of `readResult` or in a list of resources. */
function linksIn(output: Json, tool: string): string[] {
  return entriesOf(output, tool).flatMap((entry) => {
    if (!isObject(entry)) return [];
    const { type, uri } = entry;
    return typeof uri === "string" && (type === "resource_link" || type === "resource") ? [uri] : [];
  });
}

function entriesOf(output: Json, tool: string): readonly unknown[] {
  const { resources, messages } = isObject(output) ? (output as JsonObject) : {};
  if (tool === READ_RESOURCE && Array.isArray(resources)) return resources;
  if (tool === READ_PROMPT && Array.isArray(messages)) {
    return messages.flatMap((message) => (isObject(message) ? (message as JsonObject).content : []));
  }
  return Array.isArray(output) ? output : [];
}
