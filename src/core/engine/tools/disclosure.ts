import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { type Effect, EXECUTOR, type ToolDescriptor } from "../../skill/skill.ts";
import type { SkillRecord } from "../event/record.ts";
import type { Settings } from "../event/settings.ts";
import { READ_SKILL, RUN_SCRIPT } from "./own-tools.ts";

/** What of a node's skills its model is told at once, and what it reads when it needs it (skill-formats 1.2, 3.5). */

type Mode = Settings["context_mode"];

/** `read_skill` as a node offers it; undefined where its skills hold nothing that the prompt does not say. */
export function readSkillTool(skills: readonly SkillRecord[], mode: Mode): ToolDescriptor | undefined {
  const readable = readableSkills(skills, mode).map(({ id }) => id);
  if (readable.length === 0) return undefined;
  const description =
    mode === "readOnDemand"
      ? "Reads the instruction of a skill, or a file that the skill bundles. Read a skill before you rely on it."
      : "Reads a file that a skill bundles and that its instruction refers to.";
  const input_schema = {
    type: "object",
    properties: {
      skill_name: { type: "string", enum: readable, description: "The skill's name" },
      path: {
        type: "string",
        description: "A bundled file, from the skill's folder. Without it: the instruction and the names of the files",
      },
    },
    required: ["skill_name"],
    additionalProperties: false,
  };
  const name = READ_SKILL;
  return { skill: EXECUTOR, name, exposed: name, description, input_schema, effect: "read", idempotent: true };
}

/**
 * `run_script` as a node offers it, for the skills whose scripts may do what the node allows; undefined where none has any.
 */
export function runScriptTool(skills: readonly SkillRecord[], ceiling: Effect): ToolDescriptor | undefined {
  const runnable = skills.filter(({ scripts }) => scripts !== undefined && (ceiling === "write" || scripts === "read"));
  if (runnable.length === 0) return undefined;
  const description =
    "Runs a script that a skill bundles and that its instruction tells to run, isolated: it reads the skill's files, has a scratch folder named by TMPDIR, and no network unless the skill declares it.";
  const input_schema = {
    type: "object",
    properties: {
      skill_name: { type: "string", enum: runnable.map(({ id }) => id), description: "The skill's name" },
      path: { type: "string", description: "The script, from the skill's folder, such as scripts/check.py" },
      args: {
        type: "array",
        items: { type: "string" },
        description: "Its arguments, each one word of the command line",
      },
      stdin: { type: "string", description: "What it reads on its standard input" },
    },
    required: ["skill_name", "path"],
    additionalProperties: false,
  };
  const readers = runnable.flatMap(({ id, scripts }) => (scripts === "read" ? [id] : []));
  const effect = readers.length === runnable.length ? "read" : "write";
  return {
    skill: EXECUTOR,
    name: RUN_SCRIPT,
    exposed: RUN_SCRIPT,
    description,
    input_schema,
    effect,
    idempotent: false,
    readers,
  };
}

/** The tool as one call uses it: a script of a skill that only reads is a read, whatever scripts of other skills do. */
export function toolOfCall(tool: ToolDescriptor, input: Json | undefined): ToolDescriptor {
  const isReader = tool.readers && isObject(input) && tool.readers.includes(String(input.skill_name));
  return isReader ? { ...tool, effect: "read" } : tool;
}

function readableSkills(skills: readonly SkillRecord[], mode: Mode): readonly SkillRecord[] {
  const isReadable = ({ instruction, files = [] }: SkillRecord) =>
    mode === "readOnDemand" ? Boolean(instruction) : files.length > 0;
  return skills.filter(isReadable);
}

/** The skills' part of a prompt: each instruction, or the list that `read_skill` reads from. `all`: the tools of the node. */
export function skillSections(skills: readonly SkillRecord[], mode: Mode, all: readonly ToolDescriptor[]): string[] {
  if (mode === "readOnDemand") return catalogue(readableSkills(skills, mode));
  return skills.flatMap((skill) => {
    return skill.instruction ? [`## Skill: ${skill.name}\n\n${instructionAt(skill, all)}`] : [];
  });
}

/** Of names that two tools of the node would share, each skill's text has its own. */
function instructionAt({ id, instruction = "" }: SkillRecord, all: readonly ToolDescriptor[]): string {
  return nameTools(
    instruction,
    all.filter(({ skill }) => skill === id),
  );
}

const TOOL_NAMED = /(?<![{$])\{\{ *([^\s{}]+) *\}\}(?!\})/g;

/** A skill's text with `{{tool}}` as the name under which a model sees that tool; others stay as written (workflow-format D67). */
export function nameTools(text: string, tools: readonly Pick<ToolDescriptor, "name" | "exposed">[]): string {
  return text.replace(TOOL_NAMED, (written, name: string) => {
    return tools.find((tool) => tool.name === name)?.exposed ?? written;
  });
}

/** The tools that a skill's text names by `{{tool}}`, each once. */
export function toolsNamed(text: string): string[] {
  return [...new Set([...text.matchAll(TOOL_NAMED)].map(([, name = ""]) => name))];
}

const INTRO = `Skills tell how certain work is done. Only their descriptions stand here: read a skill with the tool \`${READ_SKILL}\` before you rely on it.`;

function catalogue(skills: readonly SkillRecord[]): string[] {
  if (skills.length === 0) return [];
  const bullets = skills.map(
    ({ id, description = "" }) => `- **${id}**: ${oneLine(description) || "(no description)"}`,
  );
  return [`${INTRO}\n\n## Available skills\n\n${bullets.join("\n")}`];
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** What is wrong with the arguments of `read_skill`, in the words that its users know. */
export function readingProblem(tool: ToolDescriptor, input: Json): string | undefined {
  if (!isReadSkill(tool)) return undefined;
  if (!isObject(input)) return "arguments must be an object";
  const { skill_name } = input;
  if (skill_name === undefined || skill_name === "") return "missing skill_name";
  const { enum: known } = (tool.input_schema.properties as JsonObject).skill_name as { enum: readonly string[] };
  return known.includes(String(skill_name)) ? undefined : `unknown skill: ${String(skill_name)}`;
}

/** Answers a reading of what the model has seen already; undefined where it has to be read. */
export function answerFromAbove(
  tool: ToolDescriptor,
  input: Json,
  seen: { readonly mode: Mode; readonly skills: readonly SkillRecord[]; readonly calls: readonly SeenCall[] },
): string | undefined {
  const skill = isReadSkill(tool) ? bodyRead(input) : undefined;
  if (skill === undefined) return undefined;
  const isAbove =
    seen.mode !== "readOnDemand" ||
    seen.calls.some((call) => call.tool === READ_SKILL && bodyRead(call.input) === skill);
  if (!isAbove) return undefined;
  const { instruction, files = [] } = seen.skills.find(({ id }) => id === skill) ?? {};
  const body = instruction ? `The instruction of ${skill} stands above already.` : `${skill} has no instruction.`;
  return files.length === 0 ? body : `${body} Its files, read with \`path\`: ${files.join(", ")}`;
}

interface SeenCall {
  readonly tool: string;
  readonly input: Json;
}

/** The skill whose instruction, not a file, a call reads. */
function bodyRead(input: Json): string | undefined {
  return isObject(input) && input.path === undefined ? String(input.skill_name) : undefined;
}

export function isReadSkill(tool: ToolDescriptor): boolean {
  return tool.skill === EXECUTOR && tool.name === READ_SKILL;
}

/** Whether strangers may have written what it gives: unless it is known to be the team's, or a skill's own text. */
export function givesStrangersText(tool: ToolDescriptor): boolean {
  return tool.origin !== "team" && !isReadSkill(tool);
}

/** What a reading of a skill's instruction gives; undefined for other calls. */
export function instructionRead(
  tool: ToolDescriptor,
  input: Json,
  skills: readonly SkillRecord[],
  all: readonly ToolDescriptor[],
): string | undefined {
  const read = isReadSkill(tool) ? bodyRead(input) : undefined;
  const skill = skills.find(({ id }) => id === read);
  return skill && describeReading(skill, instructionAt(skill, all));
}

/** The instruction of a skill as `read_skill` gives it: without frontmatter, marked as what it is. */
function describeReading({ id, files = [] }: SkillRecord, instruction: string): string {
  const list = files.map((file) => `  <file>${escapeXml(file)}</file>\n`).join("");
  const bundled = list === "" ? "" : `\n<skill_files>\n${list}</skill_files>\n`;
  return `<skill_content name="${escapeXml(id)}">\n${instruction}\n${bundled}</skill_content>`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
