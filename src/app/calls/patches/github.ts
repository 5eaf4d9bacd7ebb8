import { isUtf8 } from "node:buffer";
import { memberAt, memo } from "../../../core/base/values.ts";
import type { Forge } from "./forge.ts";
import { type Api, listOf, openApi, pathOf } from "./http.ts";
import { refusal } from "./merge.ts";

/** GitHub through its Git data API. `repository` is owner/name. */
export function openGitHub(api: Api, repository: string): Forge {
  const { repository: read, get, post, textAt } = openApi(api, `repos/${pathOf(repository)}`);
  const once = memo(get);
  const commitTree = async (commit: string) => textAt(await once(`git/commits/${commit}`), "tree", "sha");
  const entriesOf = async (commit: string, folder: string) => {
    const names = folder.split("/").filter(Boolean);
    for (let tree = await commitTree(commit); ; ) {
      const found = await once(`git/trees/${tree}`);
      if (memberAt(found, "truncated") === true) throw refusal(`a folder of ${folder || "/"} is too large to read`);
      const entries = listOf(memberAt(found, "tree"));
      const name = names.shift();
      if (name === undefined) return entries;
      const entry = entries.find((one) => one.path === name);
      if (entry?.type !== "tree") return [];
      tree = textAt(entry, "sha");
    }
  };
  return {
    async head() {
      const branch = textAt(await read(), "default_branch");
      const commit = textAt(await get(`git/ref/heads/${pathOf(branch)}`), "object", "sha");
      return { branch, commit };
    },
    async find(branch) {
      const ref = await get(`git/ref/heads/${pathOf(branch)}`);
      return ref === undefined ? undefined : textAt(ref, "object", "sha");
    },
    async commit(commit) {
      const found = await once(`git/commits/${commit}`);
      const isFirst = listOf(memberAt(found, "parents")).length === 0;
      return { message: textAt(found, "message"), parent: isFirst ? "" : textAt(found, "parents", 0, "sha") };
    },
    async file(commit, path) {
      const at = path.lastIndexOf("/") + 1;
      const entry = (await entriesOf(commit, path.slice(0, at))).find((one) => one.path === path.slice(at));
      if (entry?.type !== "blob") return undefined;
      const blob = await get(`git/blobs/${textAt(entry, "sha")}`);
      return { mode: textAt(entry, "mode"), content: Buffer.from(textAt(blob, "content"), "base64") };
    },
    async list(commit, folder) {
      return (await entriesOf(commit, folder)).map((entry) => ({
        name: textAt(entry, "path"),
        type: textAt(entry, "type"),
      }));
    },
    async changed(from, to) {
      const compared = await get(`compare/${from}...${to}`);
      return listOf(memberAt(compared, "files")).flatMap((file) => [
        textAt(file, "filename"),
        ...(file.status === "renamed" ? [textAt(file, "previous_filename")] : []),
      ]);
    },
    async create(branch, { head, files, message }) {
      // The API takes text, and would change the other bytes of the file.
      const odd = files.find(({ state }) => state && !isUtf8(state.content));
      if (odd) throw refusal(`${odd.path} is not UTF-8 in the default branch: apply the change by hand`);
      const tree = files.map(({ path, state }) => ({
        path,
        mode: state?.mode ?? "100644",
        type: "blob",
        ...(state ? { content: state.content.toString("utf8") } : { sha: null }),
      }));
      const made = textAt(await post("git/trees", { base_tree: await commitTree(head), tree }), "sha");
      const commit = textAt(await post("git/commits", { message, tree: made, parents: [head] }), "sha");
      await post("git/refs", { ref: `refs/heads/${branch}`, sha: commit });
    },
    async request({ title, branch, draft, labels }, body, base) {
      const owner = repository.split("/")[0] ?? "";
      const query = `head=${encodeURIComponent(`${owner}:${branch}`)}&state=all`;
      const [known] = listOf(await get(`pulls?${query}`));
      const pull = known ?? (await post("pulls", { title, head: branch, base, body, draft }));
      const has = listOf(memberAt(pull, "labels")).map(({ name }) => name);
      if (labels.some((label) => !has.includes(label)))
        await post(`issues/${Number(memberAt(pull, "number"))}/labels`, { labels: [...labels] });
      return { url: textAt(pull, "html_url"), existing: known !== undefined };
    },
  };
}
