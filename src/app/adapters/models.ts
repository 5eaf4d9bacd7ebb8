import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import { createRedactor } from "../../core/base/redact/redact.ts";
import { checkedAs, toJson } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import { type ModelChoice, modelText } from "../../core/document/model-list.ts";
import {
  type ModelAccess,
  type Provider,
  parseModel,
  requireKey,
  type ShortLivedKeys,
} from "../../core/document/model-name.ts";
import { forbidsModel, fullName } from "../../core/document/policy.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { ChangedPrompt, Part, Reply } from "../../core/engine/event/prompt.ts";
import type { Model, StoredRun } from "../../core/engine/ports.ts";
import type { Script } from "../../core/outward/testing/script.ts";
import { isWithin } from "../../files/files.ts";
import { projectRoot } from "../../loaders/documents/project-config.ts";
import type { ModelFetch } from "../../models/faults.ts";
import { hasPackage } from "../../models/packages.ts";
import type { Resumed } from "../../models/replay.ts";
import { digestPrompt } from "../../run/digest.ts";
import { readRecording } from "../../stores/file/run-lines.ts";
import type { Host, Workspace } from "../host.ts";
import { nearFile } from "../workspace.ts";
import { guardModel } from "./guards.ts";

/** Opens the models that a run names. Only this file imports the model adapters. */

interface ModelSetup {
  readonly workspace: Workspace;
  readonly model: string;
  readonly serving: Serving | undefined;
  readonly fetch: ModelFetch;
  readonly offline: boolean | undefined;
  readonly past: readonly RunEvent[];
  readonly onPromptChanged: (changed: ChangedPrompt) => void;
}

export function ownPrefixes({ models }: Pick<Workspace, "models">): ReadonlySet<string> {
  return new Set(models.keys());
}

/** Returns what decides whether this process can ask a model. */
export function modelAccess(workspace: Pick<Workspace, "host" | "models">): ModelAccess {
  return { env: workspace.host.env, own: ownPrefixes(workspace), hasPackage };
}

/** Finds the model for a name. Sets up each provider once and loads its SDK on first use. */
export function modelFinder(setup: ModelSetup) {
  const own = ownPrefixes(setup.workspace);
  const { provider: usual } = parseModel(setup.model, own);
  const opened = new Map<string, Promise<Model>>();
  return async (text: string) => {
    const wanted = parseModel(text, own);
    const provider = setup.serving?.provider ?? wanted.provider ?? usual;
    if (!setup.serving) refuseModel(setup.workspace.host, fullName(text, usual, own));
    const key = provider ?? "anthropic";
    const model = opened.get(key) ?? openModel(key, setup);
    opened.set(key, model);
    return { model: await model, name: wanted.name };
  };
}

export function refuseModel({ policies = [] }: Pick<Host, "policies">, name: string): void {
  const found = forbidsModel(policies, name);
  if (!found) return;
  const { models = [] } = found.policy;
  throw new SkillflowError("config.invalid", `the policy ${found.path} does not allow the model ${name}`, {
    hint: models.length === 0 ? "it allows no model" : `it allows ${models.join(", ")}`,
  });
}

async function openModel(prefix: string, setup: ModelSetup): Promise<Model> {
  const { workspace } = setup;
  const own = workspace.models.get(prefix);
  if (own) return guardModel(prefix, own);
  const { env, keys = {} } = workspace.host;
  const provider = prefix as Provider;
  requireKey(provider, modelAccess(workspace));
  const used = new Set<string>();
  const model = await ADAPTERS[provider]({ ...setup, env, keys: noting(keys, used) });
  return { provider: model.provider, reply: async (prompt, call) => forget(used, await model.reply(prompt, call)) };
}

function noting(keys: ShortLivedKeys, used: Set<string>): ShortLivedKeys {
  const noted = Object.entries(keys).map(([provider, key]) => {
    const note = async () => {
      const value = await key();
      used.add(value);
      return value;
    };
    return [provider, note] as const;
  });
  return Object.fromEntries(noted);
}

/** Redacts keys from replies that quote them. The run's redactor does not know keys issued after it was created. */
function forget(used: ReadonlySet<string>, reply: Reply): Reply {
  if (used.size === 0) return reply;
  const { value } = createRedactor([...used].map((key) => ({ name: "API_KEY", value: key })));
  const parts = reply.parts.map((part) => (part.type === "opaque" ? part : checkedAs<Part>(value(toJson(part)))));
  return { ...reply, parts };
}

type Opening = ModelSetup & { readonly env: Environment; readonly keys: ShortLivedKeys };

const ADAPTERS: Readonly<Record<Provider, (opening: Opening) => Promise<Model>>> = {
  async anthropic({ env, keys, fetch }) {
    const { anthropicModel } = await import("../../models/anthropic.ts");
    const { ANTHROPIC_API_KEY: apiKey = "", ANTHROPIC_BASE_URL: baseURL } = env;
    return anthropicModel({ fetch, apiKey, baseURL, shortLived: keys.anthropic });
  },
  async openai({ env, keys, fetch }) {
    const { openaiModel } = await import("../../models/openai.ts");
    const { OPENAI_API_KEY: apiKey = "", OPENAI_BASE_URL: baseURL } = env;
    return openaiModel({ fetch, apiKey, baseURL, shortLived: keys.openai });
  },
  async "openai-compatible"({ env, fetch }) {
    const { compatibleModel } = await import("../../models/openai-compatible.ts");
    const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL } = env;
    return compatibleModel({ fetch, apiKey, keyName: "OPENAI_API_KEY", baseURL });
  },
  async bedrock({ env, offline, fetch }) {
    const { bedrockModel } = await import("../../models/clouds/claude.ts");
    return bedrockModel({ fetch, env, offline });
  },
  async vertex({ env, offline, fetch }) {
    const { vertexModel } = await import("../../models/clouds/claude.ts");
    return vertexModel({ fetch, env, offline });
  },
  async azure({ env, fetch }) {
    const { azureModel } = await import("../../models/clouds/azure.ts");
    return azureModel({ fetch, env });
  },
  async replay({ serving, onPromptChanged }) {
    if (serving?.provider !== "replay") throw notServing("replay");
    const { replayModel } = await import("../../models/replay.ts");
    return replayModel({ ...serving, digest: digestPrompt, onChanged: onPromptChanged });
  },
  async script({ serving, past }) {
    if (serving?.provider !== "script") throw notServing("script");
    const { scriptModel } = await import("../../models/script.ts");
    return scriptModel(serving.script, past);
  },
};

/** File that answers every model call of a run. It is read once, before the run starts. */
export type Serving =
  | { readonly provider: "replay"; readonly recording: StoredRun; readonly resumed: Resumed }
  | { readonly provider: "script"; readonly script: Script };

export async function openServing(model: ModelChoice, workspace: Workspace): Promise<Serving | undefined> {
  const { provider, name } = parseModel(modelText(model), ownPrefixes(workspace));
  if (provider !== "script" && provider !== "replay") return undefined;
  const path = resolve(workspace.host.cwd, name);
  if (!existsSync(path)) {
    const what = provider === "script" ? "script" : "recording";
    throw new SkillflowError("recording.invalid", `there is no ${what} ${path}`, { hint: nearFile(path, name) });
  }
  if (statSync(path).isDirectory()) {
    throw new SkillflowError("recording.invalid", `${path} is a folder: ${provider} needs a file`);
  }
  if (provider === "script") return { provider, script: await readScript(path, projectRoot(workspace.host.cwd)) };
  return { provider, recording: readRecording(path), resumed: "latest" };
}

function notServing(provider: Provider): SkillflowError {
  return new SkillflowError("config.invalid", `${provider}: answers for a whole run, not for one node`, {
    hint: ["pass it with ", { option: "model", value: `${provider}:FILE` }],
  });
}

/** Reads a script. Quotes no content of a file outside the project, because a checkout could name any file. */
async function readScript(path: string, root: string) {
  const { parseScript } = await import("../../loaders/documents/test-file.ts");
  if (!statSync(path).isFile()) throw new SkillflowError("recording.invalid", `there is no script ${path}`);
  const read = parseScript(readFileSync(path, "utf8"), path);
  if ("script" in read) return read.script;
  const isOwn = isWithin(realpathSync(root), realpathSync(path));
  const [first, ...others] = read.diagnostics;
  const why = isOwn ? first?.message : "this is not valid in a script";
  const more = others.length > 0 ? `; and ${others.length} more` : "";
  const message = `${path} is not a script: line ${first?.line}, column ${first?.column}: ${why}${more}`;
  throw new SkillflowError("recording.invalid", message, { diagnostics: isOwn ? read.diagnostics : [] });
}
