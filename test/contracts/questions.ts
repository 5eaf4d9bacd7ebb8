import { readFileSync } from "node:fs";
import type { JsonObject, Skill, ToolContext } from "skillflow";
import { describe, expect, it } from "vitest";
import { toolsNamed } from "../../src/core/engine/tools/disclosure.ts";
import { callTool, fits } from "./skill.ts";

/** A model's calls for a question, in order. An input may use earlier results. */
type Ask = readonly [tool: string, input: JsonObject | ((told: readonly Told[]) => JsonObject)];

// biome-ignore lint/suspicious/noExplicitAny: results of all skills, of which the rows name the parts
type Told = any;

export interface Question {
  readonly asks: readonly Ask[];
  /** Strings in the results that the answer rests on. */
  readonly tells: readonly string[];
}

/** Checks that each question of a skill's SKILL.md is answered by the calls that it names, on recorded answers. */
export function describeQuestions(
  skill: Skill,
  contextOf: () => Promise<ToolContext>,
  questions: Readonly<Record<string, Question>>,
): void {
  describe(`the three questions of ${skill.id}`, () => {
    const told = questionsOf(skill.id);

    it("are those of its SKILL.md", () => {
      expect([...told.keys()]).toEqual(Object.keys(questions));
      expect(told.size).toBe(3);
    });

    it.each(Object.entries(questions))("%s", async (question, { asks, tells }) => {
      const named = toolsNamed(told.get(question) ?? "");
      const context = await contextOf();
      const results: Told[] = [];
      for (const [tool, given] of asks) {
        expect(named).toContain(tool);
        const input = typeof given === "function" ? given(results) : given;
        const schema = skill.tools.find(({ name }) => name === tool)?.input_schema;
        expect(schema && fits(schema, input), `${tool} ${JSON.stringify(input)}`).toBe(true);
        results.push(await callTool(skill, tool, input, context));
      }
      const text = JSON.stringify(results);
      for (const fact of tells) expect(text).toContain(fact);
    });
  });
}

/** The questions that a SKILL.md lists, each with the tools that answer it. */
function questionsOf(id: string): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(`../../skills/${id}/SKILL.md`, import.meta.url), "utf8");
  return new Map(
    text.split(/\n(?=- |\n)/).flatMap((block): [string, string][] => {
      const [, question, answer] = /^- ([A-Z][^?\n`{}]*\?) ([\s\S]*)$/.exec(block) ?? [];
      return question && answer ? [[question, answer]] : [];
    }),
  );
}
