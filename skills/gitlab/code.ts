import { clip, LASTING, linesFrom, pick, resultSchema, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { amount, paged, project, ref, text } from "./fields.ts";
import { gitlabTool, nextPage, pageSchema, paging } from "./service.ts";

export const codeTools = [
  gitlabTool({
    name: "search_code",
    description:
      "Finds lines of code by words, with the lines around them: where an error message or a setting comes from. Give a whole word: GitLab without advanced search reads all files.",
    ...SNAPSHOT,
    selects: ["search"],
    input_schema: z.strictObject({
      project,
      search: z.string().min(3).max(200).describe("Words. Narrow with filename:pay.ts, path:src or extension:go."),
      ref: ref.optional().describe("Default: the default branch."),
      ...paged,
    }),
    output_schema: pageSchema("matches", "path line:number ref text"),
    work: async ({ ask }, input) => {
      const found = await ask({
        path: ["search"],
        query: { scope: "blobs", search: input.search, ref: input.ref, ...paging(input) },
        answer: z.array(z.object({ path: z.string(), startline: amount, ref: text, data: text })),
      });
      const matches = found.map((one) => ({
        ...pick(one, "path line:startline ref"),
        text: clip(one.data ?? "", 800),
      }));
      return { matches, next_page: nextPage(found, input) };
    },
  }),
  gitlabTool({
    name: "get_file",
    description: "Reads the lines of a text file at a branch, tag or commit. Continue at `next_line`.",
    ...LASTING,
    echoes: ["path", "ref", "start_line"],
    input_schema: z.strictObject({
      project,
      path: z.string().min(1).max(1000),
      ref: ref.optional().describe("Default: the default branch."),
      start_line: z.int().min(1).max(1_000_000).optional(),
      end_line: z.int().min(1).max(1_000_000).optional(),
    }),
    output_schema: resultSchema(
      "path",
      "path ref size:number last_commit total_lines:number start_line:number content next_line:number note",
    ),
    work: async ({ ask }, input) => {
      const file = await ask({
        path: ["repository", "files", input.path.replace(/^\/+/, "")],
        query: { ref: input.ref ?? "HEAD" },
        instead: "Check the path and the ref. search_code with filename: finds files.",
        answer: fileAnswer,
      });
      const told = { path: file.file_path, ref: file.ref, size: file.size, last_commit: file.last_commit_id };
      const bytes = Buffer.from(file.content, "base64");
      if (bytes.includes(0)) return { ...told, note: "The file is not text." };
      return { ...told, ...linesFrom(bytes.toString("utf8"), input) };
    },
  }),
];

const fileAnswer = z.object({
  file_path: z.string(),
  ref: text,
  size: amount,
  last_commit_id: text,
  encoding: z.literal("base64"),
  content: z.string(),
});
