import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { defined, lazy } from "../../core/base/values.ts";
import { type Audience, audienceOf, callHandler, type Skill, type Tool } from "../../core/skill/skill.ts";
import { openSkillFolder, readSkillDocument } from "../folder/skill-folder.ts";
import { importBuiltin, loadSkillModule } from "../formats/module/skill-module.ts";

/**
 * Loads a built-in skill. Its code is imported on first use: the build writes the rest to skill.json. Without a build,
 * the code is imported for that too.
 */
export async function loadBuiltinSkill(directory: string): Promise<Skill> {
  const file = join(directory, "skill.json");
  const told = existsSync(file) ? readFileSync(file, "utf8") : await tellBuiltinSkill(directory);
  return withCode(JSON.parse(told), codeIn(directory));
}

/** Returns everything about a built-in skill except its code, as JSON. */
export async function tellBuiltinSkill(directory: string): Promise<string> {
  const folder = openSkillFolder(directory);
  const document = folder && readSkillDocument(folder);
  const instruction = document && "instruction" in document && document.instruction;
  const skill = { ...(await loadSkillModule(codeIn(directory))), ...(instruction ? { instruction } : {}) };
  return JSON.stringify(skill, (_, value) => (typeof value === "function" ? true : value));
}

/** Skill without code: functions are replaced by `true`. */
interface ToldSkill extends Omit<Skill, "tools" | "probe" | "lacks"> {
  readonly tools: readonly ToldTool[];
  readonly probe?: true;
  readonly lacks?: true;
}

interface ToldTool extends Omit<Tool, "handler" | "audience"> {
  readonly audience?: Audience | true;
}

function codeIn(directory: string): string {
  const code = ["skill.js", "skill.ts"].map((name) => resolve(directory, name)).find((file) => existsSync(file));
  return code ?? resolve(directory, "skill.js");
}

function withCode({ tools, probe, lacks, ...told }: ToldSkill, file: string): Skill {
  const load = lazy(() => loadSkillModule(file));
  return {
    ...told,
    tools: tools.map((tool) => toolWithCode(tool, load)),
    ...(probe ? { probe: async (context) => (await load()).probe?.(context) } : {}),
    // Asked before every run and by validate. It does not need the tools, which take longer to build.
    ...(lacks ? { lacks: async (run) => (await importBuiltin(file)).lacks?.(run) } : {}),
  };
}

function toolWithCode({ audience, ...told }: ToldTool, load: () => Promise<Skill>): Tool {
  const own = async () => {
    const tool = (await load()).tools.find(({ name }) => name === told.name);
    if (!tool) throw new Error(`the tool ${told.name} is not in its skill's code`);
    return tool;
  };
  const asked: Tool["audience"] =
    audience === true ? async (input, context) => audienceOf(await own(), input, context) : audience;
  return {
    ...told,
    ...defined("audience", asked),
    handler: async (input, context) => callHandler(await own(), input, context),
  };
}
