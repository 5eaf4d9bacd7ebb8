import { revealText } from "../../../core/base/inert.ts";
import { formatCount, formatTime, plural } from "../../../core/base/preview.ts";
import { nodePath } from "../../../core/document/inner/place.ts";
import { type Proof, patchOf } from "../../../core/engine/event/patch.ts";
import {
  HELD,
  isRedacted,
  linkOf,
  openCount,
  type PlanView,
  REDACTED_WARNING,
  reviewInput,
  type Shown,
  type ShownOperation,
  standingWords,
} from "../plan.ts";
import {
  type Block,
  badge,
  code,
  command,
  type Fact,
  fact,
  facts,
  joinWords,
  type Section,
  section,
  span,
  type Tone,
  text,
  type Words,
  words,
} from "./tree.ts";

/** A plan for review, in full, because approval covers all of its content. */

/** The command that applies the plan as it was reviewed, if it can still be applied. */
export function planIntro(plan: PlanView): Block[] {
  const open = openCount(plan);
  const apply = command(`apply ${plan.run} --yes --plan-digest ${plan.digest}`);
  return open === 0 ? [] : [text(words`${plural(open, "write")} to apply. You approve exactly this content: ${apply}`)];
}

const STANDING_TONES: Readonly<Record<Shown, Tone>> = {
  planned: "active",
  applied: "success",
  failed: "failed",
  in_doubt: "skipped",
  denied: "failed",
  skipped: "skipped",
  refused: "failed",
};

/** Shows an operation. `mostSources` limits the list of what its node had read, for media without room. */
export function operationSection(shown: ShownOperation, mostSources = Number.POSITIVE_INFINITY): Section {
  const { operation, now } = shown;
  const { diff } = patchOf(operation) ?? {};
  const marks = [
    ...(now.standing === "planned" ? [] : [badge(standingWords(now.standing), STANDING_TONES[now.standing])]),
    ...(operation.audience === "public" ? [badge("public", "skipped")] : []),
  ];
  const title = joinWords([words`${operation.summary}`, ...marks.map((mark) => [mark])], " ");
  const parts = [
    ...warningsOf(shown).map((warning) => text([span("own", warning)], "skipped")),
    ...inputBlocks(operation.input),
    // The whole diff, because approval covers it.
    ...(diff === undefined ? [] : [{ kind: "code", text: revealText(diff), language: "diff", name: "diff" } as const]),
    ...facts(operationFacts(shown, mostSources)),
  ];
  return section(title, parts, { id: operation.id });
}

export function warningsOf({ operation, now }: ShownOperation): string[] {
  return [
    ...(isRedacted(operation) && now.standing !== "applied" ? [REDACTED_WARNING] : []),
    ...(operation.held ? [HELD] : []),
    ...(operation.node_failed ? ["its node failed"] : []),
  ];
}

function operationFacts({ operation, readAs, now }: ShownOperation, mostSources: number): (Fact | undefined)[] {
  const { at, node, visit, skill, tool, audience, digest, sources, refers, filtered = [] } = operation;
  const link = now.standing === "applied" ? linkOf(now.output) : undefined;
  const read = sources.slice(0, mostSources).map(sourceWords);
  const rest = sources.length > read.length ? words` and ${formatCount(sources.length - read.length)} more` : [];
  const same = readAs === undefined ? undefined : words`same as before ${operationRef(readAs)}`;
  const after = refers.slice(0, mostSources).map((id) => [operationRef(id)]);
  return [
    now.standing === "planned" ? undefined : fact("State", standingText(now)),
    link === undefined ? undefined : ["Link", words`${code(link)}`],
    ["Tool", words`${code(`${skill} ${tool}`)}`],
    ["Read by", audience === "public" ? words`anyone` : words`the team`],
    ["Planned by", words`${code(nodePath(at, node))}${visit > 1 ? words`, visit ${visit}` : []}`],
    refers.length === 0 ? undefined : ["After", joinWords(after, ", ")],
    [
      "Untrusted text read before",
      same ?? (read.length === 0 ? words`nothing` : words`${joinWords(read, ", ")}${rest}`),
    ],
    ...filtered.map(({ kind, count }): Fact => {
      const isAlias = kind === "host" || kind === "ip";
      const term = isAlias ? "Replaced by aliases in the input" : "Removed from the input";
      return [term, words`${countedKind({ kind, count })}`];
    }),
    ...patchFacts(operation),
    ["Digest", words`${code(digest)}`],
  ];
}

/** Returns a line such as `applied by kim@laptop, 2026-11-20 15:00:00 UTC`, with the error if there is one. */
export function standingText({ standing, by, at, existing, error }: ShownOperation["now"]): string {
  const who = by === undefined ? "" : ` by ${by}`;
  const when = at === undefined ? "" : `, ${formatTime(at)}`;
  const was = existing ? ", it already existed" : "";
  return `${standingWords(standing)}${who}${when}${was}${error === undefined ? "" : `: ${error}`}`;
}

const operationRef = (id: string) => span("ref", id, id);

function sourceWords({ ref, tool, node }: ShownOperation["operation"]["sources"][number]): Words {
  if (tool === undefined && ref === "input") return words`the run's input`;
  const by = tool === undefined ? [] : words` ${tool}`;
  return words`${span("ref", ref, ref)}${by}${node === undefined ? [] : words` in ${node}`}`;
}

function patchFacts(operation: ShownOperation["operation"]): Fact[] {
  const patch = patchOf(operation);
  if (!patch) return [];
  const { base, branch, files, proof, in_diff: inDiff = [] } = patch;
  const changed = files.map(({ path, change }) => words`${code(path)} ${change}`);
  return [
    ["Base", words`${code(base)}`],
    ["Branch", words`${code(branch)}`],
    ["Files", joinWords(changed, ", ")],
    ...(inDiff.length > 0 ? [["In the diff", words`${inDiff.map(countedKind).join(", ")}`] as const] : []),
    ...(proof ? [["Proof", proofWords(proof)] as const] : []),
  ];
}

const KINDS = { email: "e-mail address", ip: "IP address", token: "token", host: "host name" } as const;

function countedKind({ kind, count }: { readonly kind: keyof typeof KINDS; readonly count: number }): string {
  const noun = KINDS[kind];
  return noun.endsWith("s") && count !== 1 ? `${formatCount(count)} ${noun}es` : plural(count, noun);
}

function proofWords({ command, files = [], before, after, references }: Proof): Words {
  const shown = code([command, ...files].join(" "));
  return words`${shown} exited with ${String(before)} at the base and ${String(after)} with the change (${references.join(", ")})`;
}

function inputBlocks(input: ShownOperation["operation"]["input"]): Block[] {
  const { json, texts } = reviewInput(input);
  return [
    ...(json === undefined ? [] : [{ kind: "code", text: json, language: "json" } as const]),
    ...texts.map(({ name, text: long }) => ({ kind: "code", text: long, language: "text", name }) as const),
  ];
}
