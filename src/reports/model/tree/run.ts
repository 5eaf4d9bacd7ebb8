import { formatTime, plural } from "../../../core/base/preview.ts";
import type { CheckedClaim } from "../../../core/engine/evidence/claims.ts";
import { claimText } from "../../../core/engine/evidence/claims.ts";
import type { Answers } from "../../../core/engine/result/signal-command.ts";
import { unroutedText } from "../../../core/engine/result/unrouted.ts";
import type { Account } from "../account.ts";
import type { Deed } from "../deeds.ts";
import type { Failure } from "../failure.ts";
import { leftOutSkills } from "../report.ts";
import {
  type Block,
  badge,
  code,
  codeIn,
  command,
  type Fact,
  fact,
  type Item,
  joinWords,
  list,
  type Section,
  section,
  span,
  strong,
  text,
  type Words,
  words,
} from "./tree.ts";

/** Sections of a run's reports, in the words that all of them share. */

/** Describes the first failure, then the error that ended the run, which may only follow from it. */
export function failureSection({ headline, hint, end, place }: Failure): Section {
  const line = place?.line === undefined ? [] : words`, line ${place.line} of the workflow`;
  const parts = [
    ...(hint === undefined ? [] : [text([span("verse", hint)])]),
    ...(end === undefined ? [] : [text(words`Then: ${end}`)]),
  ];
  return section([strong(headline), ...line], parts, { tone: "failed" });
}

export function nextSteps({ next }: Pick<Failure, "next">): Item[] {
  return next.map(({ text: step, command: typed }) => {
    const said = step.charAt(0).toUpperCase() + step.slice(1);
    return { words: typed === undefined ? words`${said}` : words`${said}: ${command(typed)}` };
  });
}

/** Names the node where the run ended although edges lead on, and why none of them applied. */
export function unroutedSection({ result: { unrouted }, nameOf }: Pick<Account, "result" | "nameOf">): Section[] {
  if (!unrouted) return [];
  const { node, edges } = unrouted;
  const rows = edges.map(({ to, reason }) => ({ words: words`to ${code(to)}: ${reason}` }));
  const title = words`▲ The run ${unroutedText(nameOf(node), edges.length)}`;
  return [section(title, list(rows), { tone: "degraded" })];
}

/** Lists pending approvals with the commands that answer them. */
export function awaitedSection({ awaited }: Pick<Account, "awaited">): Section[] {
  if (awaited.length === 0) return [];
  const items = awaited.map(({ name, node, ask, since, until, digest, ...answers }): Item => {
    const about = joinWords([
      words`${strong(name)} asks`,
      node === name ? undefined : words`${code(node)}`,
      words`since ${formatTime(since)}`,
      until === undefined ? undefined : words`until ${formatTime(until)}`,
    ]);
    const plan = digest === undefined ? [] : [text(words`for the plan with digest ${code(digest)}`)];
    return { words: about, parts: [text([span("verse", ask)]), ...plan, ...answerLines(answers)] };
  });
  return [section(words`Waiting for a decision`, list(items), { tone: "waiting" })];
}

export function answerLines({ approve, deny }: Answers): Block[] {
  return [text(words`approve: ${command(approve)}`), text(words`deny: ${command(deny)}`)];
}

/** Lists the findings of the run, without the headline. */
export function findingFacts({ finding }: Pick<Account, "finding">): Fact[] {
  const { verdict, severity, impact, cause, action } = finding;
  const where = cause ? placesOf(cause) : [];
  const rows = [
    fact("Verdict", verdict),
    fact("Severity", severity),
    fact("Impact", impact),
    fact("Cause", cause?.text),
    where.length === 0 ? undefined : (["Where", joinWords(where)] as const),
    fact("Confidence", cause?.confidence),
    fact("First step", action),
  ];
  return rows.filter((row) => row !== undefined);
}

/** Returns the place of the cause: its file with the line, and its commit. */
export function placesOf({ file, line, commit }: NonNullable<Account["finding"]["cause"]>): Words[] {
  return [
    ...(file === undefined ? [] : [words`${code(line === undefined ? file : `${file}:${line}`)}`]),
    ...(commit === undefined ? [] : [words`commit ${code(commit)}`]),
  ];
}

/** Lists the writes and nodes that were done, that wait for a person, and that were not done. */
export function deedLists({ done, waiting, undone }: Account["deeds"]): Block[] {
  return [
    ...list(done.map(deedItem), { title: "Done", look: "done" }),
    ...list(waiting.map(deedItem), { title: "Waiting for you", look: "waiting" }),
    ...list(undone.map(deedItem), { title: "Not done", look: "undone" }),
  ];
}

function deedItem({ text: done, why, link, at }: Deed): Item {
  const where = link === undefined ? [] : words` ${code(link)}`;
  return { words: [span("text", done, at), ...where], ...(why === undefined ? {} : { why: codeIn(why) }) };
}

/** Returns a title such as `5 of 6 claims supported by results`. */
export function evidenceTitle({ claims, supported }: Account["evidence"]): string {
  const shown =
    claims.length === supported ? plural(supported, "claim") : `${supported} of ${plural(claims.length, "claim")}`;
  return `${shown} supported by results`;
}

type Claim = Account["evidence"]["claims"][number];

/** Lists claims with the quotes that were found, and those that were not with the reason. */
export function claimLists({ claims, missing }: Account["evidence"]): Block[] {
  const none = missing.map(({ visit, why }) => text(words`${visit.name}: ${why}`, "failed"));
  return [...none, ...list(claims.map(claimItem), { look: "claims" })];
}

/** Lists the claims of one visit. */
export function checkedClaims(claims: readonly CheckedClaim[]): Block[] {
  const items = claims.map(({ claim, ...checked }) => claimItem({ text: claimText(claim), ...checked }));
  return list([...items.filter(isHeld), ...items.filter((item) => !isHeld(item))], { look: "claims" });
}

const isHeld = ({ tone }: Item) => tone === "success";

function claimItem({ text: claim, supported, cites }: Pick<Claim, "text" | "supported" | "cites">): Item {
  const parts = list(cites.map(citeItem), { look: "cites" });
  if (supported) return { words: words`${claim}`, tone: "success", parts };
  const line = words`${span("struck", claim)} ${badge("unsupported", "failed")}`;
  if (cites.some(({ problem }) => problem !== undefined)) return { words: line, tone: "failed", parts };
  const why = cites.length === 0 ? "it cites no result" : "none of its evidence is from the team's own systems";
  return { words: line, tone: "failed", why: words`${why}`, parts };
}

function citeItem({ ref, quote, problem }: Claim["cites"][number]): Item {
  if (problem === undefined) return { words: words`${span("ref", ref, ref)} ${span("quote", quote)}` };
  return { words: words`${span("ref", ref)} ${span("struck", quote)} ${span("dim", problem)}` };
}

/** Lists claims that were dropped from an answer, with the reason. */
export function droppedClaims({ evidence }: Pick<Account["result"], "evidence">): Block[] {
  const dropped = evidence?.dropped_claims ?? [];
  const items = dropped.map(({ claim, reason }) => ({ words: words`${claim}`, why: words`${reason}` }));
  return list(items, { title: "Dropped as unsupported" });
}

/** Lists skills that the run continued without, and the nodes that list them. */
export function leftOutList({ result, nameOf }: Pick<Account, "result" | "nameOf">): Item[] {
  return leftOutSkills(result).map(({ skill, reason, nodes }) => {
    return { words: words`${code(skill)}: ${reason} (${nodes.map((node) => nameOf(node)).join(", ")})` };
  });
}
