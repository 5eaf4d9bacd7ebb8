import { existsSync, lstatSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../core/base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import type { MadeTool } from "../../core/engine/event/call.ts";
import { MAKER_TOOLS, skillOf, TOOL_MAKER } from "../../core/engine/tools/tool-maker.ts";
import type { Skill, ToolContext } from "../../core/skill/skill.ts";
import { makeFolder } from "../../files/files.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import type { LoaderHost } from "../folder/host.ts";
import { openSkillFolder, readSkillDocument } from "../folder/skill-folder.ts";
import { callScript } from "../programs/script-handler.ts";

/** Work outside the run for a run's own tools: define, keep, run and remove them. */

/** Returns the skill for the registry. The run itself handles its tools, because their effects are part of the run. */
export function toolMakerSkill(): Skill {
  const refuse = () => {
    throw new Error("only a node's model may define and remove tools");
  };
  return {
    id: TOOL_MAKER,
    name: "Tool maker",
    description: "Defines tools during a run, and keeps those that should last as skills of the project.",
    category: "general",
    config: {},
    tools: MAKER_TOOLS.map((tool) => ({ ...tool, handler: refuse })),
    instruction:
      "Define a tool for work that repeats and that no tool here does: a calculation, a conversion, a look at a file in the working directory. A definition is JavaScript without network and secrets. Try what you defined before you rely on it.",
  };
}

interface Shelf {
  readonly root: string;
  readonly ids: ReadonlySet<string>;
}

/** Checks the code without running it. Saves a persistent tool as a skill. */
export async function defineMade(made: MadeTool, shelf: Shelf): Promise<Json> {
  checkSyntax(made.code);
  const kept = made.persistent ? await keepTool(made, shelf) : undefined;
  return { defined: made.tool.exposed, ...(kept === undefined ? {} : { kept }) };
}

const AsyncFunction = (async () => undefined).constructor as new (...parts: string[]) => unknown;

function checkSyntax(code: string): void {
  try {
    new AsyncFunction("args", `"use strict";\n${code}`);
  } catch (error) {
    throw new Error(`the code is not a function body in JavaScript: ${messageOf(error)}`);
  }
}

const MARK = "skillflow tool-maker";

/** Writes a tool's skill to a temporary folder and renames that, so that no incomplete skill is ever visible. */
async function keepTool(made: MadeTool, shelf: Shelf): Promise<string> {
  const { target, owner, path } = placeOf(made.tool.name, shelf);
  if (owner === "other") throw new Error(`${path} exists and was not made by define_tool: it is not replaced`);
  if (owner === "nobody" && shelf.ids.has(skillOf(made.tool.name))) {
    throw new Error(`a skill has the id ${skillOf(made.tool.name)} already: keep the tool under another name`);
  }
  const folder = await mkdtemp(join(target, "..", `.${skillOf(made.tool.name)}-`));
  try {
    await writeSkill(folder, made);
    const former = `${folder}-former`;
    if (owner === "us") await rename(target, former);
    await rename(folder, target);
    await rm(former, { recursive: true, force: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return path;
}

/** Writes SKILL.md last, because a folder without it is not a skill. */
async function writeSkill(folder: string, { tool, parameters, code }: MadeTool): Promise<void> {
  const { name, description } = tool;
  const script = `scripts/${name}.js`;
  const manifest = [{ name, description, script, parameters }];
  await mkdir(join(folder, "scripts"), { mode: 0o700 });
  const write = (file: string, text: string) => writeFile(join(folder, file), text, { flag: "wx", mode: 0o600 });
  await write(script, handlerText(code));
  await write("tools.json", `${JSON.stringify(manifest, undefined, 2)}\n`);
  await write("SKILL.md", skillText(name, description));
}

function handlerText(code: string): string {
  return `export default async function handler(args) {\n${code}\n}\n`;
}

function skillText(name: string, description: string): string {
  const skill = skillOf(name);
  return `---
name: ${skill}
description: ${JSON.stringify(description)}
metadata:
  generated-by: ${MARK}
---

# ${skill}

The tool \`${name}\`, which a run defined. Its parameters are in tools.json, its code is in scripts/${name}.js.
`;
}

function placeOf(tool: string, { root }: Shelf) {
  const skills = join(root, "skills");
  const target = join(makeFolder(skills, { root }), skillOf(tool));
  return { target, path: `skills/${skillOf(tool)}`, owner: ownerOf(target) };
}

/** Reads the mark in SKILL.md to decide whether we made the folder. */
function ownerOf(target: string) {
  const stats = lstatSync(target, { throwIfNoEntry: false });
  if (!stats) return "nobody";
  const folder = stats.isDirectory() ? openSkillFolder(target) : undefined;
  const document = folder && readSkillDocument(folder);
  if (!document || !("frontmatter" in document)) return "other";
  const { metadata } = document.frontmatter;
  return isObject(metadata) && metadata["generated-by"] === MARK ? "us" : "other";
}

/** Removes the saved skill of a tool. `made` is undefined if this run did not define the tool. */
export async function removeMade(name: string, made: MadeTool | undefined, shelf: Shelf): Promise<Json> {
  const kept = existsSync(join(shelf.root, "skills")) ? placeOf(name, shelf) : undefined;
  if (kept?.owner === "us") await rm(kept.target, { recursive: true });
  else if (!made) throw new Error(`unknown tool: ${name}`);
  return { removed: name, ...(kept?.owner === "us" ? { deleted: kept.path } : {}) };
}

export async function runMade(
  { code }: MadeTool,
  input: JsonObject,
  { workDir, signal }: ToolContext,
  host: LoaderHost,
): Promise<Json> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), temporaryName("tool", host.self))));
  try {
    await writeFile(join(directory, "handler.mjs"), handlerText(code));
    const call = { env: {}, workDir, signal, withWorkDir: true };
    return await callScript(host, { directory, file: "handler.mjs" }, input, call);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
