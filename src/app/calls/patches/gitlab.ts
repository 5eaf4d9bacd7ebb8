import { isObject, type Json, type JsonObject } from "../../../core/base/values.ts";
import type { Forge } from "./forge.ts";
import { type Api, listOf, send, textAt } from "./http.ts";

/** GitLab through its commits API. `project` is the full path. */
export function openGitLab(api: Api, project: string): Forge {
  const at = `api/v4/projects/${encodeURIComponent(project)}`;
  const get = (path: string) => send(api, "GET", [`${at}/${path}`]);
  const post = (path: string, body: Json) => send(api, "POST", [`${at}/${path}`, body]);
  return {
    async head() {
      const branch = textAt(api, await send(api, "GET", [at]), "default_branch");
      const found = await get(`repository/branches/${encodeURIComponent(branch)}`);
      return { branch, commit: textAt(api, found, "commit", "id") };
    },
    async find(branch) {
      const found = await get(`repository/branches/${encodeURIComponent(branch)}`);
      if (found === undefined) return undefined;
      return { commit: textAt(api, found, "commit", "id"), parent: textAt(api, found, "commit", "parent_ids", 0) };
    },
    async file(commit, path) {
      const found = await get(`repository/files/${encodeURIComponent(path)}?ref=${commit}`);
      if (!isObject(found)) return undefined;
      const { execute_filemode: isProgram } = found as JsonObject;
      const content = Buffer.from(textAt(api, found as JsonObject, "content"), "base64");
      return { mode: isProgram === true ? "100755" : "100644", content };
    },
    async changed(from, to) {
      const compared = await get(`repository/compare?from=${from}&to=${to}&straight=true`);
      return listOf(isObject(compared) ? (compared as JsonObject).diffs : []).map((diff) =>
        textAt(api, diff, "new_path"),
      );
    },
    async create(branch, { head, files, message }) {
      const actions = await Promise.all(
        files.map(async ({ path, state }): Promise<JsonObject> => {
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
      return { url: textAt(api, made, "web_url"), existing: known !== undefined };
    },
  };
}
