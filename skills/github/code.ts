import { defineTool } from "skillflow";
import { LASTING, linesFrom, pick, resultSchema, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { githubTool, nextPage, withGitHub } from "./client.ts";
import {
  filePath,
  paged,
  pageSchema,
  paging,
  ref,
  repository,
  SEARCHED,
  safePath,
  safeRef,
  searchQuery,
} from "./fields.ts";

export const codeTools = [
  defineTool({
    name: "search_code",
    description: "Finds files on default branches by content, with the matching fragments. Limit: 10 calls per minute.",
    ...SNAPSHOT,
    selects: ["query"],
    input_schema: z.strictObject({
      query: z
        .string()
        .min(1)
        .max(200)
        .describe("Words and qualifiers: path:src, filename:db.ts, extension:go, org:acme."),
      repository,
      ...paged,
    }),
    output_schema: pageSchema("items", "path repository url fragments:[text]", SEARCHED),
    handler: (input, context) =>
      withGitHub(context, async (rest) => {
        const q = searchQuery(input.query, input.repository ?? context.config["GITHUB_REPOSITORY"]);
        const response = await rest.search.code({ q, ...paging(input), mediaType: { format: "text-match" } });
        const { items, total_count, incomplete_results } = response.data;
        const found = items.map((item) => ({
          ...pick(item, "path repository:repository.full_name url:html_url"),
          fragments: item.text_matches?.map((match) => match.fragment),
        }));
        return {
          total_count,
          incomplete: incomplete_results || undefined,
          items: found,
          next_page: nextPage(response),
        };
      }),
  }),
  githubTool({
    name: "get_file",
    description: "Reads the lines of a text file, or lists a folder. Continue at `next_line`.",
    ...LASTING,
    echoes: ["path", "start_line"],
    input_schema: z.strictObject({
      repository,
      path: filePath.describe("Empty for the root."),
      ref: ref.optional(),
      start_line: z.int().min(1).max(1_000_000).optional(),
      end_line: z.int().min(1).max(1_000_000).optional(),
    }),
    output_schema: resultSchema(
      "",
      `path type sha size:number url total_lines:number start_line:number content next_line:number entries:[{ name
        type size:number }] truncated`,
    ),
    work: async ({ rest, at }, input) => {
      const place = { path: safePath(input.path), ...(input.ref ? { ref: safeRef(input.ref) } : {}) };
      const { data } = await rest.repos.getContent({ ...at, ...place });
      if (Array.isArray(data)) return folderOf(data);
      const { path, sha, size, html_url: url } = data;
      if (data.type !== "file") return { path, type: data.type, sha, url };
      if (!("content" in data) || data.encoding !== "base64") {
        throw new Error(`"${path}" has ${size} bytes, more than GitHub returns. search_code finds parts of it.`);
      }
      const bytes = Buffer.from(data.content, "base64");
      if (bytes.includes(0)) return { path, type: "binary", sha, size, url };
      return { path, sha, size, url, ...linesFrom(bytes.toString("utf8"), input) };
    },
  }),
];

const MOST_ENTRIES = 200;

function folderOf(entries: readonly { readonly name: string; readonly type: string; readonly size: number }[]) {
  const shown = entries.slice(0, MOST_ENTRIES).map(({ name, type, size }) => ({ name, type, size: size || undefined }));
  const left = entries.length - shown.length;
  return { type: "dir", entries: shown, ...(left > 0 ? { truncated: `${left} more entries` } : {}) };
}
