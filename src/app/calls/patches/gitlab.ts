import { type JsonObject, memberAt } from "../../../core/base/values.ts";
import type { Forge } from "./forge.ts";
import type { Entry } from "./git.ts";
import { type Api, listOf, openApi } from "./http.ts";
import { refusal } from "./merge.ts";

const PAGE = 100;
const MOST_PAGES = 100;

/** GitLab through its commits API. `project` is the full path. */
export function openGitLab(api: Api, project: string): Forge {
  const { repository: read, get, post, textAt } = openApi(api, `api/v4/projects/${encodeURIComponent(project)}`);
  return {
    async head() {
      const branch = textAt(await read(), "default_branch");
      const found = await get(`repository/branches/${encodeURIComponent(branch)}`);
      return { branch, commit: textAt(found, "commit", "id") };
    },
    async find(branch) {
      const found = await get(`repository/branches/${encodeURIComponent(branch)}`);
      return found === undefined ? undefined : textAt(found, "commit", "id");
    },
    async commit(commit) {
      const found = await get(`repository/commits/${commit}`);
      const [parent = ""] = [memberAt(found, "parent_ids")].flat();
      return { message: textAt(found, "message"), parent: String(parent) };
    },
    async file(commit, path) {
      const found = await get(`repository/files/${encodeURIComponent(path)}?ref=${commit}`);
      if (found === undefined) return undefined;
      const mode = memberAt(found, "execute_filemode") === true ? "100755" : "100644";
      return { mode, content: Buffer.from(textAt(found, "content"), "base64") };
    },
    async list(commit, folder) {
      const query = `repository/tree?path=${encodeURIComponent(folder)}&ref=${commit}&per_page=${PAGE}`;
      const entries: Entry[] = [];
      for (let page = 1; entries.length === (page - 1) * PAGE; page++) {
        if (page > MOST_PAGES) throw refusal(`the folder ${folder || "/"} is too large to read`);
        const found = listOf(await get(`${query}&page=${page}`));
        if (found.length === 0) break;
        entries.push(...found.map((entry) => ({ name: textAt(entry, "name"), type: textAt(entry, "type") })));
      }
      return entries;
    },
    async changed(from, to) {
      const compared = await get(`repository/compare?from=${from}&to=${to}&straight=true`);
      return listOf(memberAt(compared, "diffs")).flatMap((diff) => [
        textAt(diff, "new_path"),
        ...(diff.renamed_file === true ? [textAt(diff, "old_path")] : []),
      ]);
    },
    async create(branch, { head, files, message }) {
      // A file can take the place of a folder only after the folder's own are gone.
      const ordered = [...files].sort((one, other) => Number(Boolean(one.state)) - Number(Boolean(other.state)));
      const actions = await Promise.all(
        ordered.map(async ({ path, state }): Promise<JsonObject> => {
          if (!state) return { action: "delete", file_path: path };
          const action = (await this.file(head, path)) ? "update" : "create";
          const content = state.content.toString("base64");
          return { action, file_path: path, content, encoding: "base64", execute_filemode: state.mode === "100755" };
        }),
      );
      await post("repository/commits", { branch, start_sha: head, commit_message: message, actions });
    },
    async request({ title, branch, draft, labels }, description, target) {
      const [known] = listOf(await get(`merge_requests?source_branch=${encodeURIComponent(branch)}&state=all`));
      const asked = { source_branch: branch, target_branch: target, description, labels: labels.join(",") };
      const made = known ?? (await post("merge_requests", { title: draft ? `Draft: ${title}` : title, ...asked }));
      return { url: textAt(made, "web_url"), existing: known !== undefined };
    },
  };
}
