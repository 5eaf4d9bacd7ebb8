import { existsSync, readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";
import { messageOf, SkillflowError } from "../core/errors.ts";
import type { RunEvent } from "../core/event.ts";
import { type Provider, parseModel, requireKey } from "../core/model-name.ts";
import type { Model, StoredRun } from "../core/ports.ts";
import type { ChangedPrompt } from "../core/prompt.ts";
import { defined } from "../core/values.ts";
import type { Resumed } from "../models/replay.ts";
import type { Script } from "../models/script.ts";
import { digestPrompt } from "../run/digest.ts";
import { readRecording } from "../stores/file.ts";
import type { Host } from "./host.ts";
import { nearFile } from "./workspace.ts";

/** Opens the models that a run names. With app.ts the only file that names adapters. */

export interface ModelSetup {
  readonly host: Host;
  readonly model: string;
  readonly serving: Serving | undefined;
  readonly fetch: typeof fetch;
  /** Of a resumed run. */
  readonly past: readonly RunEvent[];
  readonly onPromptChanged: (changed: ChangedPrompt) => void;
}

/** Finds the model behind a name; each provider is set up once, and its SDK loaded when it is first asked. */
export function modelFinder(setup: ModelSetup) {
  const { provider: usual } = parseModel(setup.model);
  const opened = new Map<string, Promise<Model>>();
  return async (text: string) => {
    const wanted = parseModel(text);
    const provider = setup.serving?.provider ?? wanted.provider ?? usual;
    const key = provider ?? "anthropic";
    const model = opened.get(key) ?? openModel(key, setup);
    opened.set(key, model);
    return { model: await model, name: wanted.name };
  };
}

async function openModel(provider: Provider, setup: ModelSetup): Promise<Model> {
  const { serving } = setup;
  const { env } = setup.host;
  requireKey(provider, env);
  const common = { fetch: setup.fetch };
  switch (provider) {
    case "anthropic": {
      const { anthropicModel } = await import("../models/anthropic.ts");
      return anthropicModel({
        ...common,
        apiKey: env.ANTHROPIC_API_KEY ?? "",
        ...defined("baseURL", env.ANTHROPIC_BASE_URL),
      });
    }
    case "openai": {
      const { openaiModel } = await import("../models/openai.ts");
      return openaiModel({ ...common, apiKey: env.OPENAI_API_KEY ?? "", ...defined("baseURL", env.OPENAI_BASE_URL) });
    }
    case "openai-compatible": {
      const { compatibleModel } = await import("../models/openai-compatible.ts");
      const keyed = { ...defined("apiKey", env.OPENAI_API_KEY), keyName: "OPENAI_API_KEY" };
      return compatibleModel({ ...common, ...keyed, baseURL: env.OPENAI_BASE_URL ?? "" });
    }
    case "replay": {
      if (serving?.provider !== provider) throw notServing(provider);
      const { replayModel } = await import("../models/replay.ts");
      return replayModel({ ...serving, digest: digestPrompt, onChanged: setup.onPromptChanged });
    }
    case "script": {
      if (serving?.provider !== provider) throw notServing(provider);
      const { scriptModel } = await import("../models/script.ts");
      return scriptModel(serving.script, setup.past);
    }
  }
}

/** A file that answers every model call of a run: read once, before anything runs. */
export type Serving =
  | { readonly provider: "replay"; readonly recording: StoredRun; readonly resumed: Resumed }
  | { readonly provider: "script"; readonly script: Script };

export async function openServing(model: string, cwd: string): Promise<Serving | undefined> {
  const { provider, name } = parseModel(model);
  if (provider !== "script" && provider !== "replay") return undefined;
  const path = resolve(cwd, name);
  if (!existsSync(path)) {
    const what = provider === "script" ? "script" : "recording";
    throw new SkillflowError("recording.invalid", `there is no ${what} ${path}`, { hint: nearFile(path, name) });
  }
  if (provider === "script") return { provider, script: await readScript(path) };
  return { provider, recording: readRecording(path), resumed: "latest" };
}

function notServing(provider: Provider): SkillflowError {
  return new SkillflowError("config.invalid", `${provider}: answers for a whole run, not for one node`, {
    hint: `name it with --model ${provider}:FILE`,
  });
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

async function readScript(path: string) {
  const { scriptSchema } = await import("../models/script.ts");
  if (!isFile(path)) throw new SkillflowError("recording.invalid", `there is no script ${path}`);
  const checked = scriptSchema.safeParse(parseScript(path));
  if (checked.success) return checked.data;
  const problems = checked.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new SkillflowError("recording.invalid", `${path} is no script: ${problems.join("; ")}`);
}

function parseScript(path: string): unknown {
  try {
    return parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new SkillflowError("recording.invalid", `${path} is no YAML: ${messageOf(error).split("\n")[0]}`);
  }
}
