import { findProblems } from "../../app/validate.ts";
import { openWorkspace } from "../../app/workspace.ts";
import { type Diagnostic, withField } from "../../core/diagnostic.ts";
import { logJson } from "../../reports/inert.ts";
import { projectOptions, sourceChoices, text } from "../flags.ts";
import type { Action } from "../io.ts";
import { amount, describeDiagnostic, jsonText, painter } from "../terminal.ts";

export const validate: Action = async (io, files, flags) => {
  const workspace = openWorkspace(io.host, projectOptions(flags));
  const found = await findProblems(workspace, files, sourceChoices(flags));
  const strict = flags.strict === true;
  const diagnostics = found.map((each) => (strict ? { ...each, severity: "error" as const } : each));
  const errors = diagnostics.filter((diagnostic) => diagnostic.severity === "error").length;
  const format = flags.json === true ? "json" : (text(flags, "format") ?? "text");
  if (format === "text") {
    const paint = painter(io, flags);
    for (const diagnostic of diagnostics) await io.err(`${describeDiagnostic(diagnostic, paint)}\n`);
    const warnings = diagnostics.length - errors;
    const counts = `${amount(errors, "error")}, ${amount(warnings, "warning")}`;
    if (flags.quiet !== true)
      await io.err(
        errors > 0 ? `${paint("red", "✘")} ${counts}\n` : `${paint("green", "✔")} ${files.join(", ")}: ${counts}\n`,
      );
  } else {
    await io.out(await render(format, diagnostics));
  }
  return errors > 0 ? 2 : 0;
};

async function render(format: string, diagnostics: readonly Diagnostic[]): Promise<string> {
  if (format === "sarif") return logJson((await import("../../reports/sarif.ts")).sarifOfDiagnostics(diagnostics));
  if (format === "github") {
    const { annotationOf } = await import("../github.ts");
    return diagnostics.map((diagnostic) => `${annotationOf(diagnostic)}\n`).join("");
  }
  const ok = !diagnostics.some((diagnostic) => diagnostic.severity === "error");
  return jsonText({ ok, diagnostics: diagnostics.map(withField) });
}
