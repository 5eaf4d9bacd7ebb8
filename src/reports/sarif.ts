import { fieldPath, type Shown, type Finding as Told } from "../core/base/diagnostic.ts";
import { plainText, sarifText } from "../core/base/inert.ts";
import { cutText } from "../core/base/preview.ts";
import { defined, type JsonObject } from "../core/base/values.ts";
import { unroutedText } from "../core/engine/event/end.ts";
import type { Report } from "./model/report.ts";

type Finding = Pick<Shown<Told>, "severity" | "message" | "hint" | "path" | "file" | "line" | "column"> & {
  readonly code: string;
};

/** Reports the error that ended a run, each degraded node, and a node from which no edge applied. */
export function sarifOfRun({ record, result, placeOf = () => undefined }: Report): string {
  const { error, unrouted } = result;
  const at = (node: string | undefined) => {
    const place = node === undefined ? { path: [] } : { path: ["nodes", node], ...placeOf(node) };
    return { ...place, ...defined("file", record.file) };
  };
  const nameOf = (node: string) => record.workflow.nodes[node]?.name ?? node;
  const findings: Finding[] = [];
  if (error) {
    const { code, node, hint } = error;
    const message = node === undefined ? error.message : `${nameOf(node)} failed: ${error.message}`;
    const severity = result.status === "waiting" ? "note" : "error";
    findings.push({ code, severity, message, ...defined("hint", hint), ...at(node) });
  }
  for (const { node, skill, reason } of result.degraded) {
    const code = skill === undefined ? "node.degraded" : "skill.missing";
    const lack = skill === undefined ? reason : `${skill} was missing: ${reason}`;
    findings.push({ code, severity: "warning", message: `${nameOf(node)} is degraded: ${lack}`, ...at(node) });
  }
  if (unrouted) {
    const message = `The run ${unroutedText(nameOf(unrouted.node), unrouted.edges.length)}`;
    findings.push({ code: "route.none", severity: "warning", message, ...at(unrouted.node) });
  }
  return sarifOf(findings);
}

/** Converts findings to SARIF 2.1.0 for code scanning. */
export function sarifOf(findings: readonly Finding[]): string {
  const ids = [...new Set(findings.map(({ code }) => code))];
  const rules = ids.map((id) => {
    const words = sarifText(id.replace(/[._]/g, " ").toLowerCase());
    return { id: plainText(id), name: plainText(id), shortDescription: { text: words } };
  });
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "skillflow", rules } },
        columnKind: "utf16CodeUnits",
        results: findings.map((finding) => resultOf(finding, ids.indexOf(finding.code))),
      },
    ],
  };
  return `${JSON.stringify(log, undefined, 2)}\n`;
}

function resultOf({ code, severity, message, hint, path, file, line, column }: Finding, ruleIndex: number): JsonObject {
  const field = fieldPath(path);
  const location = {
    ...(file === undefined ? {} : { physicalLocation: physicalLocation(file, { line, column }) }),
    ...(field === "" ? {} : { logicalLocations: [{ fullyQualifiedName: plainText(field) }] }),
  };
  return {
    ruleId: plainText(code),
    ruleIndex,
    level: severity,
    message: { text: sarifText(cutText(hint ? `${message}\n${hint}` : message, 4000)) },
    ...(Object.keys(location).length > 0 ? { locations: [location] } : {}),
    partialFingerprints: { "skillflow/v1": plainText(`${code}:${file ?? ""}:${field}`) },
  };
}

/** Uses the first line if there is none, because code scanning requires a line. */
function physicalLocation(file: string, { line = 1, column }: Pick<Finding, "line" | "column">): JsonObject {
  const startColumn = column === undefined ? undefined : Math.max(1, column);
  const region = { startLine: Math.max(1, line), ...defined("startColumn", startColumn) };
  return { artifactLocation: { uri: uriOf(file) }, region };
}

/** Converts a path to a URI. Relative paths stay relative to the repository. */
function uriOf(file: string): string {
  const path = plainText(file).replaceAll("\\", "/").replace(/^\.\//, "");
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  if (path.startsWith("/")) return `file://${encoded}`;
  return /^[A-Za-z]:\//.test(path) ? `file:///${encoded.replace("%3A", ":")}` : encoded;
}
