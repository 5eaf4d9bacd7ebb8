import { createHash } from "node:crypto";
import * as z from "zod";
import { markdownCode, markdownLine } from "../../core/base/inert.ts";
import { formatCost, shortText } from "../../core/base/preview.ts";
import { parseJson } from "../../core/base/values.ts";

/** Facts of a run to compare with the next run, hidden in the comment. */
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
  readonly workflow: string;
  readonly facts: Facts;
  readonly before: Facts | undefined;
  readonly summary: string;
  readonly address: string | undefined;
}

export function commentText({ workflow, facts, before, summary, address }: CommentText): string {
  const head = [
    markOf(workflow),
    `<!-- skillflow-facts ${Buffer.from(JSON.stringify(facts)).toString("base64")} -->`,
    "",
    ...(before ? [comparison(before, facts), ""] : []),
    "",
  ].join("\n");
  const foot = address === undefined ? "" : `\n[The job with this result](${address})\n`;
  const room = MOST_CHARACTERS - head.length - foot.length - CUT.length;
  return head + (summary.length <= room ? summary : CUT + wholeLines(summary, room)) + foot;
}

/** Checks whether a comment has our marker. The caller must check its author. */
export function bearsMark(body: string, workflow: string): boolean {
  return body.startsWith(`${markOf(workflow)}\n`) || body.startsWith(`${markOf(workflow)}\r\n`);
}

/** Returns the previous run's facts from our comment, or undefined if they are not exactly in our format. */
export function factsIn(body: string): Facts | undefined {
  const line = body.slice(0, MOST_CHARACTERS).split(/\r?\n/, 2)[1] ?? "";
  const [, text] = /^<!-- skillflow-facts ([A-Za-z\d+/]+={0,2}) -->$/.exec(line) ?? [];
  if (text === undefined) return undefined;
  return factsSchema.safeParse(parseJson(Buffer.from(text, "base64").toString("utf8"))).data;
}

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

/** GitHub allows 65,536. The margin is for characters that it counts differently. */
const MOST_CHARACTERS = 64_000;
const CUT = "> Truncated: GitHub does not accept longer comments. The job's summary has the full text.\n\n";

/** Returns an invisible HTML marker. It counts only at the start of a body, where no text of a run can appear. */
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
