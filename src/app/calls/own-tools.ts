import type { Blobs } from "../../core/base/blobs.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import { checkedAs } from "../../core/base/values.ts";
import { type DigestInput, digestBoard } from "../../core/engine/board/digest.ts";
import { type BoardInput, readBoard } from "../../core/engine/board/read.ts";
import type { Call } from "../../core/engine/event/call.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import {
  BOARD_DIGEST,
  BOARD_READ,
  READ_SKILL,
  type ReadResult,
  RUN_SCRIPT,
} from "../../core/engine/tools/own-tools.ts";
import { isProposal } from "../../core/engine/tools/proposal.ts";
import { isMaker, makeTool, removedName, TOOL_MAKER } from "../../core/engine/tools/tool-maker.ts";
import { commandMs, isCommand } from "../../core/engine/tools/workspace.ts";
import { type Audience, audienceOf, EXECUTOR, type Tool, type ToolContext } from "../../core/skill/skill.ts";
import type { Copy } from "../../loaders/own/workspace/copy.ts";
import { callWorkspace, needsCopy } from "../../loaders/own/workspace/skill.ts";
import type { ScriptWanted } from "../../loaders/programs/skill-script.ts";
import { handlerConfig, offeredTools } from "../../loaders/registry/entry.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import type { Handler } from "../../run/call.ts";
import { BLOB_READERS } from "../../run/results/blob-tools.ts";
import { readResult } from "../../run/results/read-result.ts";
import type { Workspace } from "../host.ts";
import type { SkillEntries } from "../skills/entries.ts";
import { apiProblem, findTarget, repositoryOf } from "./patches/target.ts";

/** Handlers of the executor's own tools, which core describes, and of the tools that a run defined itself. */

interface OwnWorld {
  readonly workspace: Workspace;
  readonly record: RunRecord;
  /** Skills of the run as currently installed. */
  readonly entries: SkillEntries;
  readonly blobs: Blobs;
  /** Returns the run's working copy, which the first call creates. */
  readonly copy: () => Copy;
}

/** Returns the handler of a call: one of these, or that of a skill. Undefined if the skill does not offer the tool. */
export function findHandler(call: Call, world: OwnWorld): Handler | undefined {
  const handler = handlerOf(call, world);
  if (handler) return { tool: { ...call.tool, handler }, config: {} };
  const entry = world.entries.get(call.tool.skill);
  if (isProposal(call.tool)) return proposalHandler(call, world);
  const tool = entry && offeredTools(entry).find(({ name }) => name === call.tool.name);
  if (!entry || !tool || entry.unavailable !== undefined) return undefined;
  return tool.handler === needsCopy ? copyHandler(call, entry, world) : { tool, config: handlerConfig(entry) };
}

function handlerOf(call: Call, world: OwnWorld): Tool["handler"] | undefined {
  const { skill, name } = call.tool;
  const { again, reading, recalled } = call;
  if (reading !== undefined) return () => reading;
  if (recalled !== undefined) return () => recalled;
  if (again) return (input: JsonObject) => readResult(again, checkedAs<ReadResult>(input), world.blobs);
  const carry = skill === EXECUTOR ? EXECUTORS[name] : undefined;
  if (carry) return (input: JsonObject, context: ToolContext) => carry(input, world, context);
  const maker = skill === TOOL_MAKER ? world.entries.get(TOOL_MAKER) : undefined;
  return maker && maker.unavailable === undefined ? makerHandler(call, world) : undefined;
}

type SkillFile = { readonly skill_name: string; readonly path: string };

type Carry = (input: JsonObject, world: OwnWorld, context: ToolContext) => unknown;

const EXECUTORS: Readonly<Record<string, Carry>> = {
  [READ_SKILL]: (input, world, context) => readSkill(checkedAs<SkillFile>(input), world, context),
  [RUN_SCRIPT]: (input, world, context) => runScript(checkedAs<RunScript>(input), world, context),
  [BOARD_READ]: (input, world) => joinBoard(checkedAs<BoardInput>(input), world),
  [BOARD_DIGEST]: (input) => digestBoard(checkedAs<DigestInput>(input)),
  ...Object.fromEntries(
    Object.entries(BLOB_READERS).map(([name, read]): [string, Carry] => [
      name,
      (input, { blobs }) => read(blobs, input),
    ]),
  ),
};

/** Joins a board. What was not read is a gap, but not a tracker that can only be planned for, or log files. */
function joinBoard({ lists, trackers = [] }: BoardInput, { record }: OwnWorld) {
  const usable = record.skills.filter(({ id, available, plannable }) => available && !plannable && id !== "logs");
  return readBoard({ lists, trackers: trackers.filter((name) => usable.some(({ id }) => id === name)) });
}

/** Reads a bundled file in its current version. The instructions themselves come from the run's record. */
async function readSkill({ skill_name, path }: SkillFile, { entries }: OwnWorld, context: ToolContext): Promise<Json> {
  const { bundle, remote } = entries.get(skill_name) ?? {};
  if (remote?.read) return remote.read(path, context);
  if (!bundle) throw new SkillflowError("input.invalid", `${skill_name} bundles no files`);
  const { readBundled } = await import("../../loaders/folder/bundled-files.ts");
  return readBundled(skill_name, bundle.directory, path);
}

interface RunScript extends ScriptWanted {
  readonly skill_name: string;
}

async function runScript({ skill_name, ...wanted }: RunScript, world: OwnWorld, context: ToolContext): Promise<Json> {
  const entry = world.entries.get(skill_name);
  if (!entry?.scripts) throw new SkillflowError("input.invalid", `${skill_name} has no scripts that may be run`);
  const { runSkillScript } = await import("../../loaders/programs/skill-script.ts");
  const { skill, scripts } = entry;
  const { host } = world.workspace.skills;
  return runSkillScript(host, { skill, scripts, ...wanted }, { ...context, config: handlerConfig(entry) });
}

/** Asks the place where a proposed change goes who reads it, as the tools of that place's skill do. */
function proposalHandler({ tool }: Call, { entries, workspace }: OwnWorld): Handler {
  const { cwd, env } = workspace.host;
  const audience = async (_: Json, context: ToolContext): Promise<Audience> => {
    const target = findTarget(cwd, env);
    const { skill } = target;
    const entry = skill === undefined ? undefined : entries.get(skill);
    const usable = entry?.unavailable === undefined ? entry?.skill.tools : undefined;
    const asked = usable?.find((each) => each.effect === "write" && typeof each.audience === "function");
    const config = entry ? handlerConfig(entry) : {};
    if (!asked || !(config.GITHUB_TOKEN ?? config.GITLAB_TOKEN) || apiProblem(target, config)) return "public";
    const input: JsonObject = { [skill === "github" ? "repository" : "project"]: repositoryOf(target, config) };
    const asking: ToolContext = Object.create(context, { config: { value: config, enumerable: true } });
    return audienceOf(asked, input, asking);
  };
  const handler = () => {
    throw new SkillflowError("call.refused", "a change of files is only planned", { acted: "no" });
  };
  return { tool: { ...tool, audience, handler }, config: {} };
}

function copyHandler({ tool, input, paths }: Call, entry: SkillEntry, { workspace, copy }: OwnWorld): Handler {
  const handler = (given: JsonObject, context: ToolContext) => {
    return callWorkspace({ name: tool.name, input: given, copy: copy(), paths, host: workspace.skills.host, context });
  };
  const config = handlerConfig(entry);
  const limit = isCommand(tool) ? { timeoutMs: commandMs(input, config) } : {};
  return { tool: { ...tool, handler }, config, ...limit };
}

function makerHandler({ tool, input, made }: Call, { workspace }: OwnWorld): Tool["handler"] {
  const shelf = { root: workspace.root, ids: workspace.skills.ids };
  return async (given: JsonObject, context: ToolContext) => {
    const { defineMade, removeMade, runMade } = await import("../../loaders/own/tool-maker.ts");
    if (isMaker(tool, "define_tool")) return defineMade(makeTool(input), shelf);
    if (isMaker(tool, "remove_tool")) return removeMade(removedName(given), made, shelf);
    if (!made) throw new SkillflowError("tool.unknown", `${tool.exposed} is no longer defined`);
    return runMade(made, given, context, workspace.skills.host);
  };
}
