import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { findRecording } from "../../../app/adapters/stores.ts";
import { taintOf } from "../../../app/checks/taint.ts";
import { readWorkflow } from "../../../app/documents.ts";
import { documentsOf, type Workspace } from "../../../app/host.ts";
import { readInner } from "../../../app/runs/inner.ts";
import { reportOf } from "../../../app/runs/inspect.ts";
import { SkillflowError } from "../../../core/base/errors.ts";
import { dotOf } from "../../../reports/drawing/dot.ts";
import { type Drawing, draw, drawRun } from "../../../reports/drawing/drawing.ts";
import { mermaidOf } from "../../../reports/drawing/mermaid.ts";
import { openProject, text } from "../../flags.ts";
import type { Action } from "../../io.ts";

export const graph: Action = async (io, [given = ""], flags) => {
  const drawing = await drawingOf(openProject(io, flags), given);
  const format = text(flags, "format") ?? "mermaid";
  if (format === "mermaid") await io.outText(mermaidOf(drawing));
  else if (format === "dot") await io.outText(dotOf(drawing));
  else await io.outText(await (await import("../../../reports/drawing/svg.ts")).renderSvg(dotOf(drawing)));
  return 0;
};

/** Draws the workflow in a file. Otherwise, and for a trace, draws a recorded run. */
async function drawingOf(workspace: Workspace, given: string): Promise<Drawing> {
  const isDocument = /\.ya?ml$/.test(given) || existsSync(resolve(documentsOf(workspace.host), given));
  if (given.endsWith(".jsonl") || !isDocument) {
    const { stored } = await findRecording(workspace, given);
    return drawRun(stored.record, reportOf(stored).result);
  }
  const { workflow, inline, place, diagnostics } = readWorkflow(workspace, given);
  if (!workflow) throw new SkillflowError("workflow.invalid", `${given} cannot be drawn`, { diagnostics });
  const { inner } = readInner(workspace, { workflow, document: given, inline, place });
  return draw(workflow, { inner, taint: await taintOf(workspace, { workflow, inline, inner }) });
}
