import { clip, each, firstOf, isoField, LASTING, lenient, pick, resultSchema } from "skillflow/internal";
import * as z from "zod";
import { flag, limit, page, paged, project, ref, text } from "./fields.ts";
import { gitlabTool, nextPage, pageSchema, paging } from "./service.ts";

const COMMIT = "sha subject author date url";
export const CHANGE = "path previous_path status patch left_out";

export const commitTools = [
  gitlabTool({
    name: "list_commits",
    description: "Lists the commits of a branch, a path or a period, newest first. Between two versions: compare.",
    effect: "read",
    origin: "team",
    clock: "range",
    range: { from: "since", to: "until" },
    selects: ["ref", "path"],
    input_schema: z.strictObject({
      project,
      ref: ref.optional().describe("Default: the default branch."),
      path: z.string().min(1).max(1000).optional().describe("File or folder."),
      since: isoField.optional(),
      until: isoField.optional(),
      ...paged,
    }),
    output_schema: pageSchema("commits", COMMIT),
    work: async ({ ask }, input) => {
      const commits = await ask({
        path: ["repository", "commits"],
        query: { ref_name: input.ref, path: input.path, since: input.since, until: input.until, ...paging(input) },
        answer: z.array(commit),
      });
      return { commits: commits.map(briefOf), next_page: nextPage(commits, input) };
    },
  }),
  gitlabTool({
    name: "get_commit",
    description:
      "Reads one commit: full message and the patch of each file. Large patches are cut: give `path` for one file.",
    ...LASTING,
    origin: "team",
    selects: ["path"],
    input_schema: z.strictObject({
      project,
      ref: ref.describe("Sha, branch or tag."),
      path: z.string().min(1).max(1000).optional().describe("File or folder."),
      limit: limit.describe("Number of files."),
      page,
    }),
    output_schema: resultSchema(
      "sha files",
      `${COMMIT} message parents:[text] stats:{ additions:number deletions:number total:number } files:[{ ${CHANGE} }]
        next_page:number note`,
    ),
    work: async ({ ask }, input) => {
      const place = ["repository", "commits", input.ref];
      const found = await ask({ path: place, answer: commit });
      const files = await ask({ path: [...place, "diff"], query: paging(input), answer: z.array(diff) });
      const { subject: _, ...brief } = briefOf(found);
      const shown = files.map(changeOf).filter((change) => isBelow(change.path, input.path));
      const next_page = nextPage(files, input);
      return {
        ...brief,
        ...pick(found, "message parents:parent_ids stats"),
        files: shown,
        next_page,
        note: shown.length === 0 && next_page ? "No file of this page is under the path." : undefined,
      };
    },
  }),
  gitlabTool({
    name: "compare",
    description: "Reads the commits and the patches between two versions.",
    ...LASTING,
    origin: "team",
    selects: ["path"],
    input_schema: z.strictObject({
      project,
      from: ref.describe("The older version: tag, branch or sha."),
      to: ref.describe("The newer version."),
      path: z.string().min(1).max(1000).optional().describe("File or folder."),
    }),
    output_schema: resultSchema(
      "commits files",
      `commits:[{ ${COMMIT} }] commits_left_out:number files:[{ ${CHANGE} }] files_left_out:number incomplete:flag
        note`,
    ),
    work: async ({ ask }, input) => {
      const told = await ask({
        path: ["repository", "compare"],
        query: { from: input.from, to: input.to },
        answer: z.object({ commits: z.array(commit), diffs: z.array(diff), compare_timeout: flag }),
      });
      const commits = firstOf(told.commits.toReversed(), MOST_COMPARED);
      const files = firstOf(
        told.diffs.map(changeOf).filter(({ path }) => isBelow(path, input.path)),
        MOST_COMPARED,
      );
      return {
        commits: commits.shown.map(briefOf),
        commits_left_out: commits.left_out,
        files: files.shown,
        files_left_out: files.left_out,
        incomplete: told.compare_timeout || undefined,
        note: told.commits.length === 0 ? "`to` contains nothing that `from` lacks. They may be swapped." : undefined,
      };
    },
  }),
];

const MOST_COMPARED = 30;

const commit = z.object({
  id: z.string(),
  ...each(text, "title message author_name committed_date web_url"),
  parent_ids: lenient(z.array(z.string())),
  stats: lenient(z.object({ additions: z.number(), deletions: z.number(), total: z.number() })),
});

export const diff = z.object({
  ...each(z.string(), "old_path new_path"),
  ...each(flag, "new_file renamed_file deleted_file"),
  diff: text,
  ...each(flag, "collapsed too_large"),
});

function briefOf({ id, title, author_name, committed_date, web_url }: z.infer<typeof commit>) {
  return { sha: id, subject: clip(title ?? "", 200), author: author_name, date: committed_date, url: web_url };
}

export function changeOf(one: z.infer<typeof diff>) {
  const { old_path, new_path, new_file, renamed_file, deleted_file, collapsed, too_large } = one;
  return {
    path: new_path,
    previous_path: renamed_file ? old_path : undefined,
    status: new_file ? "added" : deleted_file ? "deleted" : renamed_file ? "renamed" : "modified",
    patch: one.diff || undefined,
    left_out: collapsed || too_large ? "GitLab returns no patch for a file of this size." : undefined,
  };
}

function isBelow(path: string, folder: string | undefined): boolean {
  const start = folder?.replace(/^\/+|(?<!\/)\/+$/g, "");
  return !start || path === start || path.startsWith(`${start}/`);
}
