import { SkillflowError } from "../../../core/base/errors.ts";
import type { Redactor } from "../../../core/base/redact/redact.ts";
import type { Json } from "../../../core/base/values.ts";
import type { Patch } from "../../../core/engine/event/patch.ts";
import type { StoredRun } from "../../../core/engine/ports.ts";
import { handlerConfig } from "../../../loaders/registry/entry.ts";
import { openFetch } from "../../adapters/fetch.ts";
import type { Workspace } from "../../host.ts";
import type { SkillEntries } from "../../skills/entries.ts";
import { deliver } from "./deliver.ts";
import type { Forge } from "./forge.ts";
import { type OwnFolder, withOwnFolder } from "./git.ts";
import { openGitHub } from "./github.ts";
import { openGitLab } from "./gitlab.ts";
import { openRemote } from "./remote.ts";
import type { Target } from "./target.ts";

/** Delivers a patch to the place that the checkout's origin names, with the config of that place's skill. */

interface Delivering {
  readonly entries: SkillEntries;
  readonly target: Target | undefined;
  readonly redactor: Redactor;
  readonly reviewed: { readonly stored: StoredRun };
}

export async function deliverPatch(
  { host }: Workspace,
  { entries, target, redactor, reviewed }: Delivering,
  { patch, signal }: { readonly patch: Patch; readonly signal: AbortSignal },
): Promise<Json> {
  if (!target) throw new SkillflowError("call.refused", "the patch has no target", { acted: "no" });
  const { env } = host;
  const entry = target.skill === undefined ? undefined : entries.get(target.skill);
  const means = { config: entry ? handlerConfig(entry) : {}, fetch: openFetch(env, false), signal };
  return withOwnFolder({ env, signal }, (folder) => {
    const forge = openForge(target, folder, means);
    return deliver({ run: reviewed.stored.record.run, patch, folder, checkout: target.checkout, forge, redactor });
  });
}

interface Means {
  readonly config: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
}

function openForge(target: Target, folder: OwnFolder, { config, ...means }: Means): Forge {
  if (target.skill === "github") {
    const headers = { authorization: `Bearer ${config.GITHUB_TOKEN}`, accept: "application/vnd.github+json" };
    const address = config.GITHUB_API_URL ?? "https://api.github.com";
    return openGitHub({ name: "GitHub", address, headers, ...means }, config.GITHUB_REPOSITORY ?? target.repository);
  }
  if (target.skill === "gitlab") {
    const headers = { authorization: `Bearer ${config.GITLAB_TOKEN}` };
    const address = config.GITLAB_URL ?? "https://gitlab.com";
    return openGitLab({ name: "GitLab", address, headers, ...means }, config.GITLAB_PROJECT ?? target.repository);
  }
  return openRemote(folder, target.url);
}
