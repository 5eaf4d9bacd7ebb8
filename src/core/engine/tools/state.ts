import { cutMiddle } from "../../base/preview.ts";
import { checkedAs, isObject, type Json, type JsonObject } from "../../base/values.ts";
import type { ToolDescriptor } from "../../skill/skill.ts";
import type { StateEntry } from "../event/record.ts";
import { type Touch, viewOf } from "../state/entries.ts";
import { DEFAULT_FOUND, searchEntries } from "../state/search.ts";
import { JUDGED_AT } from "../state/unseen.ts";
import { isOwn, ownTool, STATE_GET, STATE_PUT, STATE_SEARCH, STATE_TOOLS } from "./own-tools.ts";

/** The state tools: they read what earlier runs stored, and store data for later runs. */

const MOST_KEY = 200;
const MOST_DATA = 16 * 1024;
const MOST_FOUND = 50;
/** Longest data per search result. `state_get` returns all of it. */
const MOST_SHOWN = 2000;

const HINT = "A note is a hint, not evidence: confirm it in this run.";

const KEY = { type: "string", minLength: 1, maxLength: MOST_KEY } as const;

/** Builds the state tools of a node. If there are several states, the input names one. */
export function stateTools(states: readonly string[]): readonly ToolDescriptor[] {
  if (states.length === 0) return [];
  const named: JsonObject =
    states.length > 1 ? { state: { type: "string", enum: states, description: "Which state" } } : {};
  return toolsWith(named);
}

/** Returns `state_put` as it is planned, with the state in the input. */
export function plannedPut(): ToolDescriptor | undefined {
  return toolsWith({ state: { type: "string" } }).find(isStatePut);
}

function toolsWith(named: JsonObject): readonly ToolDescriptor[] {
  const names = Object.keys(named);
  const reads = { origin: "team", reads: "private" } as const;
  return [
    ownTool(
      [STATE_GET, `Reads what earlier runs noted under a key. ${HINT}`],
      [{ ...named, key: { ...KEY, description: "The entry's key" } }, [...names, "key"]],
      reads,
    ),
    ownTool(
      [STATE_SEARCH, `Finds notes of earlier runs by key, by the start of a key, or by words. ${HINT}`],
      [
        {
          ...named,
          text: { type: "string", maxLength: 500, description: "A key or words. Without it: the entries seen last" },
          limit: { type: "integer", minimum: 1, maximum: MOST_FOUND, description: `Default ${DEFAULT_FOUND}` },
        },
        names,
      ],
      reads,
    ),
    ownTool(
      [STATE_PUT, "Stores a note under a key for later runs. Replaces an existing note."],
      [
        {
          ...named,
          key: { ...KEY, description: "A stable name for the finding, such as its fingerprint" },
          data: { description: "What later runs need to know. No secrets, no complete logs" },
        },
        [...names, "key", "data"],
      ],
      { effect: "write", origin: "team", audience: "team" },
    ),
  ];
}

export const isStateTool = isOwn(...STATE_TOOLS);
export const isStatePut = isOwn(STATE_PUT);

interface Input {
  readonly state?: string;
  readonly key: string;
  readonly text?: string;
  readonly limit?: number;
  readonly data?: Json;
}

export function puttingProblem(tool: ToolDescriptor, input: Json): string | undefined {
  if (!isStatePut(tool)) return undefined;
  const { data = null } = checkedAs<Input>(input);
  // Otherwise a model could have an item skipped by the map that judges it.
  if (isObject(data) && Object.hasOwn(data, JUDGED_AT)) return `only a map sets ${JUDGED_AT}: use another name`;
  const size = JSON.stringify(data).length;
  return size > MOST_DATA ? `data has ${size} characters, but an entry can have at most ${MOST_DATA}` : undefined;
}

/** Adds the state to the input of a put, so that an approval shows it. */
export function placedPut(states: readonly string[], input: Json): Json {
  return isObject(input) ? ({ state: states[0] ?? "", ...input } as JsonObject) : input;
}

export interface Memory {
  readonly states: readonly string[];
  /** Returns the entries of a state at the start of the run. */
  readonly found: (state: string) => readonly StateEntry[];
  /** Writes of the run so far. */
  readonly touches: readonly Touch[];
  /** True if the node has read untrusted text. */
  readonly isTainted: boolean;
}

/** Returns the result of a state tool's call, or undefined for other tools. */
export function recall(tool: ToolDescriptor, input: Json, memory: Memory): Json | undefined {
  if (!isStateTool(tool)) return undefined;
  const { state = memory.states[0] ?? "", key, text, limit } = checkedAs<Input>(input);
  const entries = () => viewOf(memory.found(state), state, memory.touches);
  if (tool.name === STATE_PUT) return { kept: true, state, key, ...(memory.isTainted ? { tainted: true } : {}) };
  if (tool.name === STATE_GET) {
    const entry = entries().find((one) => one.key === key);
    return { found: entry !== undefined, ...(entry ? { entry: told(entry, entry.data) } : {}) };
  }
  const { found, total } = searchEntries(entries(), { text, limit });
  return { entries: found.map((entry) => told(entry, shortened(entry.data))), total };
}

function shortened(data: Json): Json {
  const text = JSON.stringify(data);
  return text.length <= MOST_SHOWN ? data : cutMiddle(text, MOST_SHOWN);
}

const STRANGERS = "written by a run that had read text from untrusted authors";

function told({ tainted, data: _data, ...entry }: StateEntry, data: Json): JsonObject {
  return { ...entry, data, ...(tainted ? { note: STRANGERS } : {}) };
}

/** Reports whether a result may contain untrusted text. A result that was moved to a blob counts as untrusted. */
export function recalledStrangers(output: Json): boolean {
  if (!isObject(output)) return true;
  const { entry, entries, found } = output as Record<string, Json>;
  if (found === false) return false;
  const all = Array.isArray(entries) ? entries : [entry ?? null];
  return all.some((one) => !isObject(one) || one.note !== undefined || !("key" in one));
}

/** Returns the touch that a completed put leaves, or undefined for other results. */
export function touchOf(tool: string, input: Json, output: Json, at: string): Touch | undefined {
  if (tool !== STATE_PUT || !isObject(input) || !isObject(output) || output.kept !== true) return undefined;
  const { data = null } = input as Record<string, Json>;
  const put = { state: String(output.state), key: String(output.key), at, data };
  return output.tainted === true ? { ...put, tainted: true } : put;
}
