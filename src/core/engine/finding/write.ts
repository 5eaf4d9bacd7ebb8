import {
  isAddress,
  markdownBlock,
  markdownCode,
  markdownProse,
  plainLine,
  plainText,
  slackLiteral,
  slackText,
} from "../../base/inert.ts";
import { shortText } from "../../base/preview.ts";
import { defined, type JsonObject, toJson } from "../../base/values.ts";
import type { Program } from "../fold/program.ts";
import type { State } from "../fold/state.ts";
import { foundWords } from "./claims.ts";
import { type Finding, type FoundClaim, findingJson, findingOf, MOST_TITLE } from "./finding.ts";
import type { FoundQuote } from "./quotes.ts";
import { type Section, sectionsOf } from "./sections.ts";

/** Writes a finding in the formats that templates can insert. The same finding always gives the same text. */

/** Returns the value of the root `finding`. Undefined if the run found nothing yet. `title` needs a headline or cause. */
export function findingRoot(finding: Finding): JsonObject | undefined {
  const sections = sectionsOf(finding);
  const title = titleOf(finding);
  if (sections.length === 1 && title === undefined) return undefined;
  const lead = title === undefined ? [] : [title];
  return {
    ...(title === undefined ? {} : { title }),
    text: written(sections, TEXT, lead),
    markdown: written(sections, MARKDOWN, []),
    slack: written(sections, SLACK, title === undefined ? [] : [`*${slackText(title)}*`]),
    json: toJson(findingJson(finding)),
  };
}

/** Returns the title: the headline, or else the cause or the verdict. One line of at most 120 characters. */
export function titleOf({ headline, cause, verdict }: Finding): string | undefined {
  const title = [headline, cause?.text, verdict].map((text) => plainLine(text ?? "")).find((text) => text !== "");
  return title === undefined ? undefined : shortText(title, MOST_TITLE);
}

/** A format: how it writes each piece of untrusted text. */
interface Format {
  /** Maximum length of the whole text. */
  readonly most: number;
  /** Maximum length of one piece of prose. */
  readonly mostProse: number;
  readonly strong: (own: string) => string;
  readonly prose: (text: string) => string;
  readonly code: (text: string) => string;
  /** Quote on lines of its own, as it was found. Undefined if the format has no room for quotes. */
  readonly quote: ((text: string) => string) | undefined;
  readonly link: (url: string) => string;
  /** Text between sections, and between a section's title and its items. */
  readonly gap: string;
}

const MARKDOWN: Format = {
  // GitHub accepts 65,536 characters.
  most: 60_000,
  mostProse: 4000,
  strong: (own) => `**${own}**`,
  prose: markdownProse,
  code: markdownCode,
  quote: (text) => markdownBlock(text, "text"),
  link: (url) => (isAddress(url) ? `<${url}>` : markdownCode(url)),
  gap: "\n\n",
};

const SLACK: Format = {
  most: 2900,
  mostProse: 400,
  strong: (own) => `*${own}*`,
  prose: slackText,
  code: (text) => `\`${slackLiteral(plainLine(text).replaceAll("`", "'"))}\``,
  quote: slackQuote,
  link: (url) => (isAddress(url) ? `<${slackLiteral(url)}>` : slackText(url)),
  gap: "\n",
};

const TEXT: Format = {
  most: 1500,
  mostProse: 300,
  strong: (own) => own,
  prose: plainLine,
  code: plainLine,
  quote: undefined,
  link: plainLine,
  gap: "\n",
};

/** Slack has no longer fence, so a quote that contains one is written as block quote. */
function slackQuote(text: string): string {
  if (!text.includes("```")) return `\`\`\`\n${slackLiteral(text)}\n\`\`\``;
  const lines = plainText(text).split("\n");
  return lines.map((line) => `> ${slackText(line)}`).join("\n");
}

/** Writes the sections. If they are too long, claims are left out from the end, then items of lists, then text. */
function written(sections: readonly Section[], format: Format, lead: readonly string[]): string {
  const claims = sections.flatMap((section) => (section.kind === "claims" ? section.claims : []));
  const shown = claims.map((claim, index) => claimText(claim, `${index + 1}.`, format));
  const write = (kept: number, room: number, written = sections) => {
    const parts = written.flatMap((section) => {
      if (section.kind === "claims") return claimParts(shown, kept);
      return sectionText(section, format, room);
    });
    return [...lead, ...parts].join(format.gap);
  };
  const whole = write(shown.length, format.mostProse);
  if (whole.length <= format.most) return whole;
  const room = format.most - write(0, format.mostProse).length - "and 999999 more claims".length - format.gap.length;
  if (room >= 0) return write(fitting(shown, room, format.gap), format.mostProse);
  for (let most = format.mostProse; most > LEAST_OF_PROSE; most = Math.floor(most / 2)) {
    const text = write(0, most);
    if (text.length <= format.most) return text;
  }
  const foot = sections.flatMap((section) =>
    section.kind === "footer" ? sectionText(section, format, LEAST_OF_PROSE) : [],
  );
  const end = foot.map((text) => `${format.gap}${text}`).join("");
  const body = sections.filter(({ kind }) => kind !== "footer");
  return `${wholeLines(write(0, LEAST_OF_PROSE, body), format.most - end.length)}${end}`;
}

const LEAST_OF_PROSE = 40;

/** Counts the claims from the start that fit. */
function fitting(shown: readonly string[], room: number, gap: string): number {
  let left = room;
  const over = shown.findIndex((text) => {
    left -= text.length + gap.length;
    return left < 0;
  });
  return over < 0 ? shown.length : over;
}

function claimParts(shown: readonly string[], kept: number): string[] {
  const more = shown.length - kept;
  return [
    ...shown.slice(0, kept),
    ...(more > 0 ? [`and ${more} more${kept > 0 ? "" : more === 1 ? " claim" : " claims"}`] : []),
  ];
}

/** Keeps the lines from the start that fit, so that no escape is cut. */
function wholeLines(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.lastIndexOf("\n", most - 2);
  return `${text.slice(0, Math.max(0, end))}\n…`;
}

type Told = Exclude<Section, { kind: "claims" }>;

function sectionText(section: Told, format: Format, most: number): string[] {
  const prose = (text: string) => format.prose(shortText(text.trim(), most));
  switch (section.kind) {
    case "fact": {
      const places = section.places.map(({ before, code }) => `${before}${format.code(shortText(code, 200))}`);
      const where = places.length === 0 ? "" : ` (${places.join(", ")})`;
      const mark = section.mark === undefined ? "" : ` (${format.prose(section.mark)})`;
      return [`${format.strong(`${section.term}:`)} ${prose(section.text)}${where}${mark}`];
    }
    case "list": {
      const items = section.items.slice(0, MOST_ITEMS).map(({ text, why }) => {
        return `- ${inList(prose(text))}${why === undefined ? "" : `: ${inList(prose(why))}`}`;
      });
      const more = section.items.length - items.length;
      const rest = more > 0 ? [`- and ${more} more`] : [];
      return [`${format.strong(`${section.term}:`)}${format.gap}${[...items, ...rest].join("\n")}`];
    }
    case "footer": {
      const { run, checked, url } = section;
      const parts = [
        `Run ${format.code(run)}`,
        ...(checked === "" ? [] : [checked]),
        ...(url ? [format.link(url)] : []),
      ];
      return [parts.join(" · ")];
    }
  }
}

const MOST_ITEMS = 20;

function inList(text: string): string {
  return text.replace(/\s*\n\s*/g, " ");
}

function claimText(claim: FoundClaim, number: string, format: Format): string {
  const { quote } = format;
  const refs = [...new Set(claim.quotes.map(sourceOf))].map((source) => format.code(source)).join(", ");
  const found = format.prose(foundWords(claim));
  const line = `${format.strong(number)} ${inList(format.prose(shortText(claim.text, format.mostProse)))} (${found})`;
  if (quote === undefined) return `${line}: ${refs}`;
  const quotes = claim.quotes.flatMap((each) => [quote(each.quote), sourceLine(each, format)]);
  return [line, ...quotes].join(format.gap);
}

function sourceOf({ ref, tool }: FoundQuote): string {
  return tool === undefined ? "the run's input" : `${ref} ${tool}`;
}

function sourceLine(quote: FoundQuote, format: Format): string {
  const { time, url } = quote;
  const parts = [
    format.code(sourceOf(quote)),
    ...(time === undefined ? [] : [format.prose(time)]),
    ...(url === undefined ? [] : [format.link(url)]),
  ];
  return parts.join(" · ");
}

/** Adds the roots `run` and `finding` to those of a template's paths, which win. Computes only what the paths need. */
export function withRunRoots(
  outer: JsonObject,
  { program, state }: { readonly program: Program; readonly state: State },
  paths: readonly string[],
): JsonObject {
  const { run: id, report_url } = program.record;
  const isAsked = paths.some((path) => /^(?:(?:all|any):)?finding(?:$|[.[])/.test(path));
  const finding =
    isAsked && !Object.hasOwn(outer, "finding") ? findingRoot(findingOf(state, program.record)) : undefined;
  return { run: { id, ...defined("report_url", report_url) }, ...defined("finding", finding), ...outer };
}
