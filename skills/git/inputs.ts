import * as z from "zod";

/** Inputs of the tools. Functions, because schemas take longer to build than the skill takes to load. */

const name = (description: string) => z.string().min(1).max(200).describe(description);
const repository = () =>
  z.string().min(1).max(500).optional().describe("Directory or .bundle file; default: the working directory");
const path = () => z.string().min(1).max(500);
const date = (description: string) => z.string().min(8).max(40).optional().describe(description);
const line = (description: string) => z.number().int().min(1).max(10_000_000).optional().describe(description);
const from = () => name("Older end");
const to = () => name("Newer end; default HEAD").optional();
const limitOf = (most: number, usual: number) =>
  z.number().int().min(1).max(most).optional().describe(`Default ${usual}`);
const patch = () => ({
  context_lines: z.number().int().min(0).max(20).optional().describe("Default 3"),
  from_line: line("Line of the diff to start at"),
});

export const surveyInput = () =>
  z.strictObject({
    repository: repository(),
    around: z.string().min(8).max(40).describe("When it began: 2026-01-31 or ISO 8601"),
    paths: z.array(path()).max(20).optional().describe("Only changes below these"),
    deployed: z.array(z.any()).max(100).optional().describe("Deploys that name commits or tags, as text or JSON"),
  });

export const logInput = () =>
  z.strictObject({
    repository: repository(),
    from: from().optional().describe("Leave out this and all before it"),
    to: to(),
    path: path().optional(),
    author: name("Text in name or address").optional(),
    grep: name("Text in the message").optional(),
    changes_text: name("Commits that add or remove this text in a file; slow without path or since").optional(),
    since: date("2026-01-31 or ISO 8601"),
    until: date("2026-01-31 or ISO 8601"),
    files: z.boolean().optional().describe("Also changed files"),
    patch: z.boolean().optional().describe("Also diffs, up to 3 KB each"),
    limit: limitOf(100, 20),
    skip: z.number().int().min(0).max(100_000).optional().describe("Commits to pass over"),
  });

export const showInput = () =>
  z.strictObject({
    repository: repository(),
    commits: z.array(z.string().min(1).max(200)).min(1).max(10).describe("Ids, branches or tags"),
    path: path().optional(),
    ...patch(),
  });

export const diffInput = () =>
  z.strictObject({ repository: repository(), from: from(), to: to(), path: path().optional(), ...patch() });

export const changedInput = () =>
  z.strictObject({
    repository: repository(),
    from: from(),
    to: to(),
    path: path().optional(),
    limit: limitOf(300, 100),
  });

/** Returns the input of a tool that shows lines of a file, with the default of its last line. */
export const linesInput = (usual: string) =>
  z.strictObject({
    repository: repository(),
    path: path(),
    ref: name("Default HEAD").optional(),
    start_line: line("Default 1"),
    end_line: line(usual),
  });

export const refsInput = () => z.strictObject({ repository: repository(), limit: limitOf(200, 40) });
