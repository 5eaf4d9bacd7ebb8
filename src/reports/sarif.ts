import { fieldPath, type Shown, type Finding as Told } from "../core/base/diagnostic.ts";
import { plainText, sarifText } from "../core/base/inert.ts";
import { cutText } from "../core/base/preview.ts";
import type { Json, JsonObject } from "../core/base/values.ts";
import { unroutedText } from "../core/engine/event/end.ts";
import type { Place, Report } from "./model/report.ts";

/** Converts findings about documents to SARIF 2.1.0 for code scanning. */
export function sarifOfDiagnostics(diagnostics: readonly Shown<Told>[]): string {
  return sarifOf(
    diagnostics.map(({ severity, code, message, hint, path, file, line, column }) => ({
      rule: code,
      level: severity,
      text: textOf(message, hint),
      field: fieldPath(path),
      file,
      place: { ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) },
    })),
  );
}

/** Reports the error that ended a run, each degraded node, and a node from which no edge applied. */
export function sarifOfRun(report: Report): string {
  const { record, result, placeOf = () => undefined } = report;
  const { error } = result;
  const at = (node: string | undefined) => ({
    field: node === undefined ? "" : fieldPath(["nodes", node]),
    file: record.file,
    place: (node === undefined ? undefined : placeOf(node)) ?? {},
  });
  const nameOf = (node: string) => record.workflow.nodes[node]?.name ?? node;
  const ending: Finding[] = error
    ? [
        {
          rule: error.code,
          level: result.status === "waiting" ? "note" : "error",
          text: textOf(
            error.node === undefined ? error.message : `${nameOf(error.node)} failed: ${error.message}`,
            error.hint,
          ),
          ...at(error.node),
        },
      ]
    : [];
  const degraded = result.degraded.map(({ node, skill, reason }): Finding => {
    const rule = skill === undefined ? "node.degraded" : "skill.missing";
    const lack = skill === undefined ? reason : `${skill} was missing: ${reason}`;
    return { rule, level: "warning", text: `${nameOf(node)} is degraded: ${lack}`, ...at(node) };
  });
  const { unrouted } = result;
  const stuck: Finding[] = unrouted
    ? [
        {
          rule: "route.none",
          level: "warning",
          text: `The run ${unroutedText(nameOf(unrouted.node), unrouted.edges.length)}`,
          ...at(unrouted.node),
        },
      ]
    : [];
  return sarifOf([...ending, ...degraded, ...stuck]);
}

const textOf = (message: string, hint: string | undefined) => (hint ? `${message}\n${hint}` : message);

interface Finding {
  readonly rule: string;
  readonly level: Told["severity"];
  readonly text: string;
  readonly field: string;
  readonly file: string | undefined;
  readonly place: Place;
}

function sarifOf(findings: readonly Finding[]): string {
  const ids = [...new Set(findings.map((finding) => finding.rule))];
  const rules = ids.map((id) => {
    const words = sarifText(id.replace(/[._]/g, " ").toLowerCase());
    return { id: plainText(id), name: plainText(id), shortDescription: { text: words } };
  });
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "skillflow", rules } },
        columnKind: "utf16CodeUnits",
        results: findings.map((finding) => resultOf(finding, indexOf.get(finding.rule) ?? 0)),
      },
    ],
  };
  return `${JSON.stringify(log, undefined, 2)}\n`;
}

function resultOf({ rule, level, text, field, file, place }: Finding, ruleIndex: number): JsonObject {
  const location: Record<string, Json> = {};
  if (file !== undefined) location["physicalLocation"] = physicalLocation(file, place);
  if (field !== "") location["logicalLocations"] = [{ fullyQualifiedName: plainText(field) }];
  return {
    ruleId: plainText(rule),
    ruleIndex,
    level,
    message: { text: sarifText(cutText(text, 4000)) },
    ...(Object.keys(location).length > 0 ? { locations: [location] } : {}),
    partialFingerprints: { "skillflow/v1": plainText(`${rule}:${file ?? ""}:${field}`) },
  };
}

/** Uses the first line if there is none, because code scanning requires a line. */
function physicalLocation(file: string, { line = 1, column }: Place): JsonObject {
  const region: Record<string, Json> = { startLine: Math.max(1, line) };
  if (column !== undefined) region["startColumn"] = Math.max(1, column);
  return { artifactLocation: { uri: uriOf(file) }, region };
}

/** Converts a path to a URI. Relative paths stay relative to the repository. */
function uriOf(file: string): string {
  const path = plainText(file).replaceAll("\\", "/").replace(/^\.\//, "");
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  if (path.startsWith("/")) return `file://${encoded}`;
  return /^[A-Za-z]:\//.test(path) ? `file:///${encoded.replace("%3A", ":")}` : encoded;
}
