import { SkillflowError } from "../../../core/base/errors.ts";
import type { Json } from "../../../core/base/values.ts";
import type { Patch } from "../../../core/engine/event/patch.ts";
import { handlerConfig } from "../../../loaders/registry/entry.ts";
import { openFetch } from "../../adapters/fetch.ts";
import type { Workspace } from "../../host.ts";
import type { PreparedApply } from "../../runs/apply.ts";
import { deliver } from "./deliver.ts";
import type { Forge } from "./forge.ts";
import { type OwnFolder, withOwnFolder } from "./git.ts";
import { openGitHub } from "./github.ts";
import { openGitLab } from "./gitlab.ts";
import type { Api } from "./http.ts";
import { openRemote } from "./remote.ts";
import { apiOf, repositoryOf, type Target } from "./target.ts";

/** Minimum time for a git command, because the fetch of a large repository takes longer than other calls. */
const MOST_GIT_MS = 600_000;

/** Delivers a patch to the place that the checkout's origin names, with the config of that place's skill. */

export async function deliverPatch(
  { host }: Workspace,
  { entries, target, redactor, reviewed }: PreparedApply,
  { patch, signal, timeoutMs }: { readonly patch: Patch } & Pick<Api, "signal" | "timeoutMs">,
): Promise<Json> {
  if (!target) throw new SkillflowError("call.refused", "the patch has no target", { acted: "no" });
  const { env, kill } = host;
  const entry = target.skill === undefined ? undefined : entries.get(target.skill);
  const means = { config: entry ? handlerConfig(entry) : {}, fetch: openFetch(env, false), signal, timeoutMs };
  const mostMs = Math.max(timeoutMs, MOST_GIT_MS);
  return withOwnFolder({ env, signal, mostMs, kill }, (folder) => {
    const forge = openForge(target, folder, means);
    return deliver({ run: reviewed.stored.record.run, patch, folder, checkout: target.checkout, forge, redactor });
  });
}

type Means = Pick<Api, "fetch" | "signal" | "timeoutMs"> & { readonly config: Readonly<Record<string, string>> };

function openForge(target: Target, folder: OwnFolder, { config, ...means }: Means): Forge {
  const { skill } = target;
  if (skill === undefined) return openRemote(folder, target.url);
  const api = { address: apiOf(skill, config), ...means };
  const repository = repositoryOf(target, config);
  if (skill === "gitlab") {
    const headers = { authorization: `Bearer ${config.GITLAB_TOKEN}` };
    return openGitLab({ name: "GitLab", headers, ...api }, repository);
  }
  const headers = { authorization: `Bearer ${config.GITHUB_TOKEN}`, accept: "application/vnd.github+json" };
  return openGitHub({ name: "GitHub", headers, ...api }, repository);
}
