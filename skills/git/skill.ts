import { defineSkill, defineTool } from "skillflow";
import * as z from "zod";
import { readFileAt, showBlame } from "./contents.ts";
import { showChangedFiles, showCommit, showDiff, showLog, showRefs } from "./tools.ts";

const name = (description: string) => z.string().min(1).max(200).describe(description);
const repository = z
  .string()
  .min(1)
  .max(500)
  .optional()
  .describe("Directory or .bundle file of the repository, relative to the working directory; usually left out");
const path = z.string().min(1).max(500).describe("File or directory, relative to the repository's root");
const onePath = z.string().min(1).max(500).describe("File, relative to the repository's root");
const date = (description: string) =>
  z.string().min(8).max(40).optional().describe(`${description}: 2026-01-31 or ISO 8601`);
const line = (description: string) => z.number().int().min(1).max(10_000_000).optional().describe(description);
const from = name("Older end: commit id, branch, tag, or one like v1.2~3");
const to = name("Newer end; default HEAD").optional();
const limitOf = (most: number, usual: number) =>
  z.number().int().min(1).max(most).optional().describe(`Most to return; default ${usual}`);
const patch = {
  context_lines: z.number().int().min(0).max(20).optional().describe("Unchanged lines around a change; default 3"),
  from_line: line("Line of the diff to start at, to read on in a long one"),
};

export default defineSkill({
  id: "git",
  name: "Git repository",
  description: "Read the history, changes and files of a local git repository or bundle",
  category: "git",
  config: {
    GIT_REPOSITORY: {
      description: "The repository's directory or bundle; default: the working directory.",
      env: "GIT_REPOSITORY",
      secret: false,
    },
    PATH: { description: "Where the git program is looked for.", env: "PATH", secret: false },
  },
  tools: [
    defineTool({
      name: "log",
      description: "Lists commits, newest first, with author, date and message",
      effect: "read",
      origin: "team",
      input_schema: z.strictObject({
        repository,
        from: from.optional().describe("Leave out this commit and all before it"),
        to,
        path: path.optional(),
        author: name("Text in the author's name or address; case is ignored").optional(),
        grep: name("Text in the message; case is ignored").optional(),
        changes_text: name(
          "Only commits that add or remove this text in a file; slow without path or since",
        ).optional(),
        since: date("Not before this date"),
        until: date("Not after this date"),
        files: z.boolean().optional().describe("Also list each commit's changed files"),
        limit: limitOf(100, 20),
        skip: z.number().int().min(0).max(100_000).optional().describe("Commits to pass over, to page on"),
      }),
      handler: showLog,
    }),
    defineTool({
      name: "show",
      description: "Shows one commit: message, changed files and diff",
      effect: "read",
      origin: "team",
      input_schema: z.strictObject({
        repository,
        commit: name("Commit id, branch or tag"),
        path: path.optional().describe("Only the change of this file or directory"),
        ...patch,
      }),
      handler: showCommit,
    }),
    defineTool({
      name: "diff",
      description: "Shows the difference between two commits, branches or tags",
      effect: "read",
      origin: "team",
      input_schema: z.strictObject({ repository, from, to, path: path.optional(), ...patch }),
      handler: showDiff,
    }),
    defineTool({
      name: "changed_files",
      description:
        "Lists the files changed between two commits with added and deleted lines, and the commits between them",
      effect: "read",
      origin: "team",
      input_schema: z.strictObject({ repository, from, to, path: path.optional(), limit: limitOf(300, 100) }),
      handler: showChangedFiles,
    }),
    defineTool({
      name: "blame",
      description: "Tells for each line of a part of a file which commit last changed it",
      effect: "read",
      origin: "team",
      input_schema: z.strictObject({
        repository,
        path: onePath,
        ref: name("Commit, branch or tag; default HEAD").optional(),
        start_line: line("First line; default 1"),
        end_line: line("Last line; default 100 lines"),
      }),
      handler: showBlame,
    }),
    defineTool({
      name: "read_file",
      description: "Reads a file as it was at a commit, with line numbers",
      effect: "read",
      origin: "team",
      input_schema: z.strictObject({
        repository,
        path: onePath,
        ref: name("Commit, branch or tag; default HEAD").optional(),
        start_line: line("First line; default 1"),
        end_line: line("Last line; default 400 lines"),
      }),
      handler: readFileAt,
    }),
    defineTool({
      name: "refs",
      description: "Lists branches and tags, newest first, with the commits they stand for",
      effect: "read",
      origin: "team",
      input_schema: z.strictObject({ repository, limit: limitOf(200, 40) }),
      handler: showRefs,
    }),
  ],
});
