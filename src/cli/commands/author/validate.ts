import { findProblems } from "../../../app/checks/validate.ts";
import { type Finding, hasErrors, isDiagnostic, type Shown, shownFinding } from "../../../core/base/diagnostic.ts";
import { usageError } from "../../../core/base/errors.ts";
import { logJson } from "../../../core/base/inert.ts";
import { redactFinding } from "../../../core/engine/record/content.ts";
import { openGuarded, text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { framesOf } from "../../terminal/frame.ts";
import { amount, describeDiagnostic, jsonText, painter, programName } from "../../terminal/terminal.ts";

export const validate: Action = async (io, files, flags) => {
  if (flags.explain !== undefined) return (await import("./explain.ts")).explain(io, files, flags);
  if (files.length === 0)
    throw usageError("missing required argument 'workflow'", "pass a workflow file, or --explain CODE");
  const workspace = openGuarded(io, flags);
  const found = await findProblems(workspace, files, flags);
  // With --strict, warnings are errors. Notes stay notes.
  const raised = (finding: Finding): Finding => (isDiagnostic(finding) ? { ...finding, severity: "error" } : finding);
  const findings = found.map((finding) => shownFinding(flags.strict === true ? raised(finding) : finding));
  const format = flags.json === true ? "json" : (text(flags, "format") ?? "text");
  const code = hasErrors(findings) ? 2 : 0;
  if (format !== "text") {
    await io.out(await render(format, redactFinding(findings, io.clean)));
    return code;
  }
  const paint = painter(io, flags);
  const frame = framesOf(io, paint, flags);
  for (const finding of findings) await io.err(`${describeDiagnostic(finding, paint, frame(finding))}\n`);
  const told = code === 0 ? `${paint("green", "✔")} ${files.join(", ")}:` : paint("red", "✘");
  if (flags.quiet === true) return code;
  await io.err(`${told} ${counted(findings)}\n`);
  if (findings.length > 0)
    await io.err(`${paint("dim", `explain one with ${programName(io)} validate --explain CODE`)}\n`);
  return code;
};

function counted(findings: readonly Finding[]): string {
  const count = (severity: Finding["severity"]) => findings.filter((found) => found.severity === severity).length;
  const notes = count("note");
  return [
    amount(count("error"), "error"),
    amount(count("warning"), "warning"),
    ...(notes > 0 ? [amount(notes, "note")] : []),
  ].join(", ");
}

async function render(format: string, findings: readonly Shown<Finding>[]): Promise<string> {
  if (format === "sarif") return logJson((await import("../../../reports/sarif.ts")).sarifOf(findings));
  if (format === "github") {
    const { annotationOf } = await import("../../ci/github.ts");
    return findings.map((finding) => `${annotationOf(finding)}\n`).join("");
  }
  return jsonText({
    ok: !hasErrors(findings),
    diagnostics: findings.filter(isDiagnostic),
    findings: findings.map((finding) => {
      const [part, id] = finding.path;
      return { ...finding, node: part === "nodes" && typeof id === "string" ? id : null };
    }),
  });
}
