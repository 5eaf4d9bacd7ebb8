import type { Finding, Shown } from "../../core/base/diagnostic.ts";
import { asOurs } from "../../core/base/errors.ts";
import { commandData, commandProperty, markdownCode, markdownText, plainLine } from "../../core/base/inert.ts";
import { cutText, shortText } from "../../core/base/preview.ts";
import { summaryMarkdown } from "../../reports/markdown.ts";
import type { Report } from "../../reports/model/report.ts";

/** Returns workflow commands that hide secrets. They must be printed before anything else. */
export function maskCommands(secrets: Iterable<string>): string[] {
  const shown = [...new Set(secrets)].filter((secret) => secret.trim() !== "");
  return shown.map((secret) => `::add-mask::${secret.replace(/[%\r\n]/g, encode)}`);
}

export function annotationOf({ severity, code, message, hint, file, line, column }: Shown<Finding>): string {
  const place = { file, line: file && line, col: file && line && column };
  return command(severity === "note" ? "notice" : severity, { ...place, title: code }, withHint(message, hint));
}

/** Describes the end of a run and its degraded nodes as annotations, errors first, within GitHub's limit. */
export function annotationsOfRun({ record, result, events, placeOf }: Report): string[] {
  const { file, workflow } = record;
  const { error } = result;
  const nameOf = (node: string) => workflow.nodes[node]?.name ?? node;
  // A node of an inner run is shown at the outer node that runs it.
  const outer = (path: string) => (Object.hasOwn(workflow.nodes, path) ? path : path.replace(/[[/].*$/s, ""));
  const at = (node: string | undefined) => ({
    file,
    line: node === undefined ? undefined : file && placeOf?.(outer(node))?.line,
  });
  const ending = (result.waiting ?? []).map(({ node, ask }) =>
    command("notice", { ...at(node), title: `${workflow.name} is waiting for approval: ${node}` }, ask),
  );
  if (error && !result.waiting) {
    const message = error.node === undefined ? error.message : `${nameOf(error.node)}: ${error.message}`;
    const title = `${workflow.name}: ${result.status}`;
    ending.push(command("error", { ...at(error.node), title }, withHint(message, error.hint)));
  }
  const short = [...result.degraded].sort((a, b) => Number(a.skill !== undefined) - Number(b.skill !== undefined));
  const degraded = short.map(({ skill, node, reason }) => {
    if (skill === undefined) return command("warning", { ...at(node), title: `${nameOf(node)} is degraded` }, reason);
    const text = `${nameOf(node)} ran without ${skill}: ${reason}`;
    return command("warning", { ...at(node), title: `${skill} is missing` }, text);
  });
  const warnings = events.flatMap((event) =>
    event.type === "warning"
      ? [command("warning", { ...at(event.at ?? event.node), title: workflow.name }, event.message)]
      : [],
  );
  return [...ending, ...[...degraded, ...warnings].slice(0, MOST_ANNOTATIONS)];
}

/** Describes why nothing ran: each finding at its place, or else the reason. */
export function annotationsOfRefusal(error: unknown): string[] {
  const { code, message, hint, diagnostics } = asOurs(error);
  const found = diagnostics.filter(({ severity }) => severity === "error").slice(0, MOST_ANNOTATIONS);
  if (found.length > 0) return found.map(annotationOf);
  return [command("error", { title: code }, withHint(message, hint))];
}

export function refusalSummary(error: unknown): string {
  const { code, message, hint, diagnostics } = asOurs(error);
  const rows = diagnostics.slice(0, MOST_FINDINGS).map((found) => {
    const place = [found.file, found.line].filter((part) => part !== undefined).join(":");
    return `- ${place === "" ? "" : `${markdownCode(place)} `}${markdownText(shortText(found.message, 600))}`;
  });
  const parts = [
    `## ⛔ Nothing ran: ${markdownCode(code)}`,
    markdownText(cutText(message, 4000)),
    rows.join("\n"),
    hint === undefined ? "" : markdownText(cutText(hint, 2000)),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

export function stepSummary(report: Report): string {
  return cutSummary(summaryMarkdown(report), MOST_SUMMARY_BYTES);
}

/** Cuts a summary to `most` bytes at a line break and adds a note. */
export function cutSummary(summary: string, most: number): string {
  const bytes = new TextEncoder().encode(summary);
  if (bytes.length <= most) return summary;
  const end = bytes.lastIndexOf(LINE_FEED, most - CUT_NOTE.length - 1);
  return new TextDecoder().decode(bytes.subarray(0, end + 1)) + CUT_NOTE;
}

/** Outputs of the action, in the order of the file. */
const OUTPUTS = [
  ...(["run-id", "status", "verdict", "degraded", "result-file", "report-file", "plan-file", "plan-count"] as const),
  ...(["plan-digest", "record-digest", "cost-usd", "input-tokens", "output-tokens"] as const),
];

export type Outputs = { readonly [Name in (typeof OUTPUTS)[number]]?: string | number | null | undefined };

/** Formats lines for GITHUB_OUTPUT. The random `delimiter` prevents a value from starting another output. */
export function outputsOf(outputs: Outputs, delimiter: string): string {
  const texts = OUTPUTS.map((name) => [name, String(outputs[name] ?? "")] as const);
  const end = unusedDelimiter(
    delimiter,
    texts.map(([, value]) => value),
  );
  return texts.map(([name, value]) => `${name}<<${end}\n${value}\n${end}\n`).join("");
}

/** GitHub shows ten annotations of each kind per step. */
const MOST_ANNOTATIONS = 10;
const MOST_FINDINGS = 50;
const MOST_SUMMARY_BYTES = 1_000_000;
const CUT_NOTE = "\n\nTruncated: GitHub accepts at most 1 MiB. The report has the whole run.\n";
const LINE_FEED = 10;

type Properties = Readonly<Record<string, string | number | undefined>>;

function command(name: "error" | "warning" | "notice", properties: Properties, text: string): string {
  const written = Object.entries(properties)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([key, value]) => `${key}=${commandProperty(plainLine(shortText(String(value), 240)))}`);
  return `::${name} ${written.join(",")}::${commandData(cutText(text, 4000))}`;
}

const withHint = (message: string, hint: string | undefined) => (hint ? `${message}\n${hint}` : message);

function encode(mark: string): string {
  return `%${mark.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

function unusedDelimiter(delimiter: string, values: readonly string[]): string {
  return values.some((value) => value.includes(delimiter)) ? unusedDelimiter(`${delimiter}_`, values) : delimiter;
}
