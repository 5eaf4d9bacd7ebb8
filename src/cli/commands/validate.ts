import { readWorkflow, sourceFindings } from "../../app/documents.ts";
import type { Workspace } from "../../app/host.ts";
import { documentSecrets } from "../../app/secrets.ts";
import { configFindings, openWorkspace, unknownSkills } from "../../app/workspace.ts";
import { type Diagnostic, fieldPath } from "../../core/errors.ts";
import { logJson } from "../../reports/inert.ts";
import { projectOptions, sourceChoices, text } from "../flags.ts";
import type { Action } from "../io.ts";
import { amount, describeDiagnostic, jsonText, painter } from "../terminal.ts";

export const validate: Action = async (io, files, flags) => {
  const project = openWorkspace(io.host, projectOptions(flags));
  const found = await Promise.all(files.map((file) => readDiscreetly(project, file, sourceChoices(flags))));
  const unknown = unknownSkills(
    project,
    found.map(({ workflow }) => workflow),
  );
  const strict = flags.strict === true;
  const diagnostics = [...configFindings(project), ...unknown, ...found.flatMap((loaded) => loaded.diagnostics)].map(
    (diagnostic) => (strict ? { ...diagnostic, severity: "error" as const } : diagnostic),
  );
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

/** With the secrets that stand in the document. */
async function readDiscreetly(project: Workspace, file: string, choices: ReturnType<typeof sourceChoices>) {
  const { workflow, diagnostics } = readWorkflow(project, file);
  if (!workflow) return { workflow, diagnostics };
  const sources = await sourceFindings(project, file, workflow, choices);
  return { workflow, diagnostics: [...diagnostics, ...sources, ...documentSecrets(project, file, workflow)] };
}

async function render(format: string, diagnostics: readonly Diagnostic[]): Promise<string> {
  if (format === "sarif") return logJson((await import("../../reports/sarif.ts")).sarifOfDiagnostics(diagnostics));
  if (format === "github") {
    const { annotationOf } = await import("../github.ts");
    return diagnostics.map((diagnostic) => `${annotationOf(diagnostic)}\n`).join("");
  }
  const ok = !diagnostics.some((diagnostic) => diagnostic.severity === "error");
  return jsonText({ ok, diagnostics: diagnostics.map(located) });
}

/** With the field's path as people write it, beside its keys. */
function located(diagnostic: Diagnostic) {
  return { ...diagnostic, field: fieldPath(diagnostic.path) };
}
