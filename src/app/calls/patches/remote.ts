import { SkillflowError } from "../../../core/base/errors.ts";
import type { Forge } from "./forge.ts";
import type { OwnFolder } from "./git.ts";
import { refusal } from "./merge.ts";

/** Any other Git remote, with the user's own credentials. It has branches, but no requests. */
export function openRemote(folder: OwnFolder, url: string): Forge {
  const run = async (...args: string[]) => (await folder.git(args)).out.toString("utf8");
  const fetched = async (ref: string) => {
    await folder.git(["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", url, ref]);
    return (await run("rev-parse", "FETCH_HEAD^{commit}")).trim();
  };
  return {
    async head() {
      const told = await run("ls-remote", "--symref", "--", url, "HEAD");
      const [, branch] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(told) ?? [];
      if (branch === undefined) throw new SkillflowError("tool.failed", "origin has no default branch");
      return { branch, commit: await fetched(`refs/heads/${branch}`) };
    },
    async find(branch) {
      const told = await run("ls-remote", "--", url, `refs/heads/${branch}`);
      if (told.trim() === "") return undefined;
      const commit = await fetched(`refs/heads/${branch}`);
      const parent = await folder.git(["rev-parse", "--verify", "--quiet", `${commit}^`], { may: [0, 1] });
      if (parent.code !== 0) throw refusal(`the branch ${branch} exists with another content`);
      return { commit, parent: parent.out.toString("utf8").trim() };
    },
    async file(commit, path) {
      const told = await run("ls-tree", "-z", "--full-tree", commit, "--", `:(literal)${path}`);
      const [, mode, id] = /^(\d+) blob ([0-9a-f]+)\t/.exec(told) ?? [];
      if (mode === undefined || id === undefined) return undefined;
      return { mode, content: (await folder.git(["cat-file", "blob", id])).out };
    },
    async changed(from, to) {
      return (await run("diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to)).split("\0").filter(Boolean);
    },
    async create(branch, { head, files, message }) {
      const env = { GIT_INDEX_FILE: "push-index" };
      await folder.git(["read-tree", head], { env });
      for (const { path, state } of files) {
        const id = state
          ? (await folder.git(["hash-object", "-w", "--stdin"], { input: state.content })).out.toString().trim()
          : "0".repeat(head.length);
        await folder.git(["update-index", "-z", "--index-info"], {
          env,
          input: `${state?.mode ?? "0"} ${id}\t${path}\0`,
        });
      }
      const tree = (await folder.git(["write-tree"], { env })).out.toString().trim();
      const commit = (await folder.git(["commit-tree", tree, "-p", head], { input: message })).out.toString().trim();
      const ref = `refs/heads/${branch}`;
      // The push fails if the branch appears meanwhile, even at a commit that this one follows.
      const how = ["--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"];
      await folder.git(["push", ...how, `--force-with-lease=${ref}:`, "--", url, `${commit}:${ref}`]);
    },
  };
}
