import { type Model, memoryStore, openProject, type Prompt, type Workflow } from "skillflow";
import type { Json } from "../../src/core/base/values.ts";
import { readAlert, withEvidence } from "./evidence.ts";
import { type Call, INVESTIGATORS } from "./investigators.ts";
import type { Incident, Place } from "./truth.ts";

/** A scripted investigator at work: a real run with the real tools, in which its script stands where the model would. */

export interface Score {
  readonly incident: string;
  readonly path: string;
  readonly needles: readonly boolean[];
  readonly decoys: readonly boolean[];
  readonly calls: number;
  readonly tokens: number;
  /** What tools answered that failed. */
  readonly failures: readonly string[];
}

const WORKFLOW: Workflow = {
  id: "investigation",
  name: "Investigation",
  description: "One look at an incident.",
  entry: "look",
  nodes: {
    look: {
      name: "Look",
      instruction: "Find what proves the cause.",
      skills: ["logs", "git"],
      effects: "read",
      max_turns: 20,
    },
  },
  edges: [],
};

export async function investigate(incident: Incident, path: string): Promise<Score> {
  const seen = await withEvidence(incident, (directory) => look(directory, incident, path));
  const shown = seen.map(({ output }) => shownText(output)).join("\n");
  const isMet = ({ text }: Place) => shown.includes(text);
  const { needles, decoys } = incident.truth;
  const characters = seen.reduce((sum, { output }) => sum + JSON.stringify(output).length, 0);
  return {
    incident: incident.name,
    path,
    needles: needles.map(isMet),
    decoys: decoys.map(isMet),
    calls: seen.length,
    tokens: Math.round(characters / 4),
    failures: seen.filter(({ failed }) => failed).map(({ output }) => JSON.stringify(output)),
  };
}

interface Answer {
  readonly output: Json;
  readonly failed: boolean;
}

async function look(directory: string, incident: Incident, path: string): Promise<readonly Answer[]> {
  const model = scriptedModel(incident, path);
  const project = await openProject({
    directory,
    env: { PATH: process.env["PATH"] },
    discover: false,
    models: { investigator: model },
    store: memoryStore(),
  });
  const result = await project.run(WORKFLOW, { input: incident.alert, model: "investigator:scripted" }).result;
  if (result.status !== "succeeded") throw new Error(`${incident.name}, ${path}: ${JSON.stringify(result.error)}`);
  return model.seen;
}

function scriptedModel(incident: Incident, path: string): Model & { readonly seen: readonly Answer[] } {
  const turns = INVESTIGATORS[path]?.(readAlert(incident.alert));
  if (!turns) throw new Error(`there is no investigator ${path}`);
  const seen: Answer[] = [];
  return {
    provider: "investigator",
    seen,
    async reply(prompt, { key }) {
      const answers = answersOf(prompt);
      seen.push(...answers);
      const { value, done } = turns.next(answers.map(({ output }) => output));
      const calls = done ? [] : value;
      const parts = calls.map(
        ({ tool, input }: Call, index: number) => ({ type: "call", id: `${key}/${index}`, tool, input }) as const,
      );
      return { parts: done ? [{ type: "text", text: "Done." }] : parts, stop: "end", usage: null };
    },
  };
}

/** Of the calls made last. */
function answersOf({ turns }: Prompt): readonly Answer[] {
  const last = turns.at(-1);
  return last?.role === "tools" ? last.results : [];
}

/** A result as a model reads it, and its texts as they were before they became JSON. */
export function shownText(output: Json): string {
  return [JSON.stringify(output), ...leavesOf(output)].join("\n");
}

function* leavesOf(value: Json): Generator<string> {
  if (value === null) return;
  if (typeof value !== "object") yield String(value);
  else for (const one of Array.isArray(value) ? value : Object.values(value)) yield* leavesOf(one as Json);
}
