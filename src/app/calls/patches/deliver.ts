import type { Redactor } from "../../../core/base/redact/redact.ts";
import type { Json } from "../../../core/base/values.ts";
import type { Patch, Proof } from "../../../core/engine/event/patch.ts";
import { changeProblem, inertText } from "../../../core/engine/plan/proposal.ts";
import { handlerConfig } from "../../../loaders/registry/entry.ts";
import { openFetch } from "../../adapters/fetch.ts";
import type { Workspace } from "../../host.ts";
import type { PreparedApply } from "../../runs/apply.ts";
import type { Forge } from "./forge.ts";
import { type OwnFolder, withOwnFolder } from "./git.ts";
import { openGitHub } from "./github.ts";
import { openGitLab } from "./gitlab.ts";
import type { Api } from "./http.ts";
import { type MergedFile, mergePatch, refusal } from "./merge.ts";
import { openRemote } from "./remote.ts";
import { apiOf, repositoryOf, type Target } from "./target.ts";

/** Delivers an approved patch: a new branch, and a request for it. Any part that exists already is not made again. */

/** Minimum time for a git command, because the fetch of a large repository takes longer than other calls. */
const MOST_GIT_MS = 600_000;

/** Delivers a patch to the place that the checkout's origin names, with the config of that place's skill. */
export async function deliverPatch(
  { host }: Workspace,
  { entries, target, redactor, reviewed }: PreparedApply,
  { patch, signal, timeoutMs }: { readonly patch: Patch } & Pick<Api, "signal" | "timeoutMs">,
): Promise<Json> {
  if (!target) throw refusal("the patch has no target");
  const { env, kill, self } = host;
  const entry = target.skill === undefined ? undefined : entries.get(target.skill);
  const means = { config: entry ? handlerConfig(entry) : {}, fetch: openFetch(env, false), signal, timeoutMs };
  const mostMs = Math.max(timeoutMs, MOST_GIT_MS);
  return withOwnFolder({ env, self, signal, mostMs, kill }, (folder) => {
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

export interface Delivery {
  readonly run: string;
  readonly patch: Patch;
  readonly folder: OwnFolder;
  readonly checkout: string;
  readonly forge: Forge;
  readonly redactor: Redactor;
}

/** Returns `{branch?, url?, existing?, superseded?}`, and the branch only if there is one. Throws a refusal if a person must look. */
export async function deliver({ run, patch, folder, checkout, forge, redactor }: Delivery): Promise<Json> {
  const problem = changeProblem(patch, redactor);
  if (problem !== undefined) throw refusal(problem);
  const { branch } = patch;
  const found = await findOwn(forge, patch);
  const head = await forge.head();
  if (branch === head.branch) throw refusal("a change is never written to the default branch");
  const start = found?.parent ?? head.commit;
  const fileAt = (path: string) => forge.file(start, path);
  const files = await mergePatch({ folder, checkout, patch, fileAt, list: (path) => forge.list(start, path) });
  if (files.length === 0) return { ...(found ? { branch } : {}), existing: true, superseded: start };
  if (!found) await forge.create(branch, { head: start, files, message: `${patch.title}\n\n${SIGNED}${run}` });
  else if (!(await isSame(forge, { from: start, to: found.commit, files }))) {
    throw refusal(`the branch ${branch} exists with another content`);
  }
  const body = patch.proof ? `${patch.body}\n\n${proofText(patch.proof)}` : patch.body;
  const request = await forge.request?.(patch, body, head.branch);
  const isThere = found !== undefined && request?.existing !== false;
  return { branch, ...(request ? { url: request.url } : {}), ...(isThere ? { existing: true } : {}) };
}

const MOST_COMMITS = 50;

/** Finds the commit of a patch in its branch, to which people may have added others, and its parent. */
async function findOwn(forge: Forge, { branch, title }: Patch) {
  const head = await forge.find(branch);
  if (head === undefined) return undefined;
  const last = { commit: head, ...(await forge.commit(head)) };
  if (last.parent === "") throw refusal(`the branch ${branch} exists with another content`);
  let one = last;
  for (let count = 0; count < MOST_COMMITS && one.parent !== ""; count++) {
    if (one.message.startsWith(`${title}\n\n${SIGNED}`)) return one;
    one = { commit: one.parent, ...(await forge.commit(one.parent)) };
  }
  return last;
}

const SIGNED = "skillflow run ";

async function isSame(
  forge: Forge,
  { from, to, files }: { readonly from: string; readonly to: string; readonly files: readonly MergedFile[] },
): Promise<boolean> {
  const paths = new Set(await forge.changed(from, to));
  if (paths.size !== files.length || !files.every(({ path }) => paths.has(path))) return false;
  for (const { path, state } of files) {
    const there = await forge.file(to, path);
    if (there?.mode !== state?.mode || !(there?.content ?? NOTHING).equals(state?.content ?? NOTHING)) return false;
  }
  return true;
}

const NOTHING = Buffer.alloc(0);

function proofText({ command, files = [], before, after, references }: Proof): string {
  const words = inertText([command, ...files].join(" ")).replace(/[`\n]/g, " ");
  return `**Proof**\n\n\`${words}\`\n\n- before the change: exit code ${before}\n- with the change: exit code ${after}\n- results of the run: ${references.join(", ")}`;
}
