import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type SkillflowError, usageError } from "../core/base/errors.ts";
import type { Hint } from "../core/base/options.ts";
import { isObject, parseJson, textAt } from "../core/base/values.ts";
import type { Environment } from "../core/document/config.ts";
import { temporaryName } from "../files/temporary-name.ts";
import { projectRoot } from "../loaders/documents/project-config.ts";
import { git, isPast, resolveCommit, writeCommit } from "../loaders/sources/commit-files.ts";
import { type DocumentsAt, type Host, hintText } from "./host.ts";

/** Loads workflow, config, skills and instructions from a trusted commit instead of the checkout. */

/**
 * Opens the documents of the trusted commit, which the flag, the continued run's record or a CI event names. Returns
 * undefined if the checkout itself is used.
 */
export function openReference(host: Host, given?: string, recorded?: string): DocumentsAt | undefined {
  const named = given ?? recorded;
  const event = baseOfEvent(host.env);
  const by = given === undefined ? "as the run recorded" : hintText(host, [{ option: "from-ref", value: given }]);
  const wanted = named === undefined ? event : { refs: [named], by };
  if (!wanted) return undefined;
  const root = realpathSync(projectRoot(host.cwd));
  const repository = { root, env: host.env };
  const find = ({ refs }: Wanted) => refs.map((ref) => resolveCommit(repository, ref)).find((id) => id !== undefined);
  const commit = find(wanted);
  if (commit === undefined && git(repository, ["rev-parse", "--git-dir"]).status !== 0) {
    throw usageError(`there is no git repository in ${root} (${wanted.by})`, "run the command in a clone");
  }
  if (commit === undefined) throw missing(wanted.refs, wanted.by, named === undefined);
  // A record may name any commit that is here, such as the head of a pull request.
  const tip = event ? find(event) : "HEAD";
  const isKnown = given !== undefined || recorded === undefined || (tip && isPast(repository, commit, tip));
  const folder = mkdtempSync(join(tmpdir(), temporaryName("ref", host.self)));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    writeCommit(repository, commit, folder);
    // Marks the root of the copy, so that no search leaves it.
    writeFileSync(join(folder, ".git"), "", { mode: 0o600 });
    const within = join(folder, relative(root, realpathSync(host.cwd)));
    mkdirSync(within, { recursive: true, mode: 0o700 });
    return { folder: within, commit, by: wanted.by, isForeign: !isKnown, ofEvent: event !== undefined, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function missing(refs: readonly string[], by: string, isOfEvent: boolean): SkillflowError {
  const hint: Hint | undefined = isOfEvent
    ? [
        "check out with fetch-depth: 0 (GitLab: GIT_DEPTH: 0), because the clone is shallow, or pass ",
        { option: "from-ref", value: "HEAD" },
        " to use the checkout",
      ]
    : "fetch it first: in GitHub Actions check out with fetch-depth: 0";
  return usageError(`there is no commit ${refs[0]} here (${by})`, hint);
}

interface Wanted {
  readonly refs: readonly string[];
  readonly by: string;
}

/** Checks whether the job runs in a CI service whose events may require a trusted commit. */
export function mayBeOfEvent({ GITHUB_ACTIONS, GITLAB_CI }: Environment): boolean {
  return GITHUB_ACTIONS === "true" || GITLAB_CI === "true";
}

/** Returns the trusted commit if an untrusted author may have written the head of the event. */
function baseOfEvent(env: Environment): Wanted | undefined {
  if (env.GITHUB_ACTIONS !== "true") return env.GITLAB_CI === "true" ? baseOfMergeRequest(env) : undefined;
  const name = env.GITHUB_EVENT_NAME ?? "";
  const event = readEvent(env);
  const sha = textAt(event, "pull_request", "base", "sha") ?? textAt(event, "merge_group", "base_sha");
  if (sha !== undefined || name.startsWith("pull_request") || name === "merge_group") {
    return { refs: sha === undefined ? branchRefs(env.GITHUB_BASE_REF) : [sha], by: `the base of ${name}` };
  }
  if (!OF_HEADS.has(name)) return undefined;
  const branch = textAt(event, "repository", "default_branch");
  const refs = [...(branch === undefined ? [] : branchRefs(branch)), ...(env.GITHUB_SHA ? [env.GITHUB_SHA] : [])];
  return { refs: refs.length === 0 ? branchRefs(undefined) : refs, by: `the default branch, because of ${name}` };
}

/** Events about a commit or a pull request that do not name its base. */
const OF_HEADS: ReadonlySet<string> = new Set([
  "issue_comment",
  "workflow_run",
  "check_run",
  "check_suite",
  "deployment",
  "deployment_status",
  "status",
]);

function baseOfMergeRequest(env: Environment): Wanted | undefined {
  if (!env.CI_MERGE_REQUEST_IID) return undefined;
  const named = [env.CI_MERGE_REQUEST_TARGET_BRANCH_SHA, env.CI_MERGE_REQUEST_DIFF_BASE_SHA].filter((sha) => !!sha);
  const refs = named.length > 0 ? named : branchRefs(env.CI_MERGE_REQUEST_TARGET_BRANCH_NAME);
  return { refs: refs.filter((ref) => ref !== undefined), by: "the base of the merge request" };
}

function branchRefs(branch = "HEAD"): string[] {
  return branch === "HEAD" ? ["refs/remotes/origin/HEAD"] : [`refs/remotes/origin/${branch}`, `refs/heads/${branch}`];
}

const MOST_BYTES = 25 * 2 ** 20;

/**
 * Reads the event that started the job, as GitHub wrote it. Parts of it come from untrusted authors. Returns the reason
 * as a string if that fails.
 */
export function readEvent({ GITHUB_EVENT_PATH: path }: Environment): Readonly<Record<string, unknown>> | string {
  if (!path) return "GITHUB_EVENT_PATH is not set";
  try {
    if (statSync(path).size > MOST_BYTES) return "the event is too large to come from GitHub";
    const event = parseJson(readFileSync(path, "utf8"));
    return isObject(event) ? event : "the event is not a JSON object";
  } catch {
    return "the event cannot be read";
  }
}
