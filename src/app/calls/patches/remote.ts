import { SkillflowError } from "../../../core/base/errors.ts";
import type { Forge } from "./forge.ts";
import { changedPaths, entriesIn, type OwnFolder, stateIn } from "./git.ts";

/** Any other Git remote, with the user's own credentials. It has branches, but no requests. */
export function openRemote(folder: OwnFolder, url: string): Forge {
  const fetched = async (ref: string) => {
    await folder.git(["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", url, ref]);
    return folder.text(["rev-parse", "FETCH_HEAD^{commit}"]);
  };
  return {
    async head() {
      const told = await folder.text(["ls-remote", "--symref", "--", url, "HEAD"]);
      const [, branch] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(told) ?? [];
      if (branch === undefined) throw new SkillflowError("tool.failed", "origin has no default branch");
      return { branch, commit: await fetched(`refs/heads/${branch}`) };
    },
    async find(branch) {
      if ((await folder.text(["ls-remote", "--", url, `refs/heads/${branch}`])) === "") return undefined;
      return fetched(`refs/heads/${branch}`);
    },
    async commit(commit) {
      const [parents = "", ...lines] = (await folder.text(["log", "-1", "--format=of %P%n%B", commit])).split("\n");
      return { message: lines.join("\n"), parent: parents.split(" ")[1] ?? "" };
    },
    file: (commit, path) => stateIn(folder, { tree: commit, path }),
    list: (commit, path) => entriesIn(folder, commit, path),
    changed: (from, to) => changedPaths(folder, from, to),
    async create(branch, { head, files, message }) {
      const env = { GIT_INDEX_FILE: "push-index" };
      await folder.git(["read-tree", head], { env });
      for (const { path, state } of files) {
        const id = state
          ? await folder.text(["hash-object", "-w", "--stdin"], { input: state.content })
          : "0".repeat(head.length);
        const input = `${state?.mode ?? "0"} ${id}\t${path}\0`;
        await folder.git(["update-index", "-z", "--index-info"], { env, input });
      }
      const tree = await folder.text(["write-tree"], { env });
      const commit = await folder.text(["commit-tree", tree, "-p", head], { input: message });
      const ref = `refs/heads/${branch}`;
      // The push fails if the branch appears meanwhile, even at a commit that this one follows.
      const how = ["--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"];
      await folder.git(["push", ...how, `--force-with-lease=${ref}:`, "--", url, `${commit}:${ref}`]);
    },
  };
}
