import { createHash } from "node:crypto";
import * as z from "zod";
import { markdownCode, markdownLine } from "../../core/base/inert.ts";
import { formatCost, shortText } from "../../core/base/preview.ts";
import { parseJson } from "../../core/base/values.ts";

/** What of a run is compared with the one before it, and kept in the comment where nobody sees it. */
export type Facts = z.infer<typeof factsSchema>;

const factsSchema = z.strictObject({
  schema: z.literal("skillflow.comment/1"),
  run: z.string().min(1).max(200),
  status: z.string().max(40),
  verdict: z.string().max(300).nullable(),
  route: z.array(z.string().max(200)).max(200),
  costUsd: z.number().min(0).nullable(),
});

interface CommentText {
  /** Whose comment it is: one for each workflow. */
  readonly workflow: string;
  readonly facts: Facts;
  readonly before: Facts | undefined;
  /** The run's summary, inert. */
  readonly summary: string;
  /** Where the job's log is. */
  readonly address: string | undefined;
}

/** One comment, below what GitHub takes. */
export function commentText({ workflow, facts, before, summary, address }: CommentText): string {
  const head = [
    markOf(workflow),
    `<!-- skillflow-facts ${Buffer.from(JSON.stringify(facts)).toString("base64")} -->`,
    "",
    ...(before ? [comparison(before, facts), ""] : []),
    "",
  ].join("\n");
  const foot = address === undefined ? "" : `\n[The job that says so](${address})\n`;
  const room = MOST_CHARACTERS - head.length - foot.length - CUT.length;
  return head + (summary.length <= room ? summary : CUT + wholeLines(summary, room)) + foot;
}

/** Whether a comment says that it is ours; who wrote it is for whoever asks to find out. */
export function bearsMark(body: string, workflow: string): boolean {
  return body.startsWith(`${markOf(workflow)}\n`) || body.startsWith(`${markOf(workflow)}\r\n`);
}

/** What a comment of ours says of the run before; undefined where that is not exactly as we write it. */
export function factsIn(body: string): Facts | undefined {
  const line = body.slice(0, MOST_CHARACTERS).split(/\r?\n/, 2)[1] ?? "";
  const [, text] = /^<!-- skillflow-facts ([A-Za-z\d+/]+={0,2}) -->$/.exec(line) ?? [];
  if (text === undefined) return undefined;
  return factsSchema.safeParse(parseJson(Buffer.from(text, "base64").toString("utf8"))).data;
}

/** Facts as a result document holds them; undefined where it holds none. */
export function factsOf(document: unknown): Facts | undefined {
  const result = resultSchema.safeParse(document).data;
  if (!result) return undefined;
  return {
    schema: "skillflow.comment/1",
    run: result.run.slice(0, 200),
    status: result.status,
    verdict: result.verdict === undefined ? null : shortText(result.verdict, 300),
    route: result.trace.steps.slice(0, 200).map(({ node }) => node.slice(0, 200)),
    costUsd: result.usage.costUsd,
  };
}

const resultSchema = z.object({
  run: z.string().min(1),
  status: z.string().max(40),
  verdict: z.string().optional(),
  trace: z.object({ steps: z.array(z.object({ node: z.string() })) }),
  usage: z.object({ costUsd: z.number().nullable() }),
});

/** GitHub takes 65,536; what is left is for characters that it counts otherwise. */
const MOST_CHARACTERS = 64_000;
const CUT =
  "> The summary is cut at its end: GitHub takes no longer comment. The whole of it is the job's summary.\n\n";

/** A comment of HTML, which shows nothing. It counts where a body begins, and no text of a run stands there. */
function markOf(workflow: string): string {
  return `<!-- skillflow-comment ${createHash("sha256").update(workflow).digest("hex").slice(0, 16)} -->`;
}

function comparison(before: Facts, now: Facts): string {
  const rows = [
    ["Outcome", markdownLine(before.status), markdownLine(now.status)],
    ["Verdict", verdictOf(before), verdictOf(now)],
    ["Route", routeOf(before), routeOf(now)],
    ["Cost", formatCost(before.costUsd), formatCost(now.costUsd)],
  ] as const;
  const lines = rows.map(
    ([what, then, since]) => `| ${what} | ${then} | ${then === since ? "as before" : `**${since}**`} |`,
  );
  return ["| | Before | Now |", "|---|---|---|", ...lines].join("\n");
}

function verdictOf({ verdict }: Facts): string {
  return verdict === null || verdict.trim() === "" ? "none" : markdownLine(verdict);
}

const MOST_SHOWN = 30;

function routeOf({ route }: Facts): string {
  const shown = route.slice(0, MOST_SHOWN).map(markdownCode).join(" → ");
  return route.length > MOST_SHOWN ? `${shown} → …` : shown || "none";
}

function wholeLines(text: string, most: number): string {
  const cut = text.slice(0, Math.max(0, most));
  return cut.slice(0, cut.lastIndexOf("\n") + 1);
}
