import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { findRecording } from "../../../app/adapters/stores.ts";
import { taintOf } from "../../../app/checks/taint.ts";
import { readWorkflow } from "../../../app/documents.ts";
import { documentsOf } from "../../../app/host.ts";
import { readInner } from "../../../app/runs/inner.ts";
import { SkillflowError } from "../../../core/base/errors.ts";
import { stateOf } from "../../../core/engine/fold/fold.ts";
import { describeResult } from "../../../core/engine/result/result.ts";
import { runDot, workflowDot } from "../../../reports/drawing/dot.ts";
import { runMermaid, workflowMermaid } from "../../../reports/drawing/mermaid.ts";
import { openProject, text } from "../../flags.ts";
import type { Action } from "../../io.ts";

export const graph: Action = async (io, [given = ""], flags) => {
  const format = text(flags, "format") ?? "mermaid";
  const draw = async (mermaid: () => string, dot: () => string) => {
    if (format === "mermaid") return mermaid();
    return format === "dot" ? dot() : (await import("../../../reports/drawing/svg.ts")).renderSvg(dot());
  };
  const workspace = openProject(io, flags);
  const path = resolve(documentsOf(io.host), given);
  if (existsSync(path) && !given.endsWith(".jsonl")) {
    const { workflow, inline, place, diagnostics } = readWorkflow(workspace, given);
    if (!workflow) throw new SkillflowError("workflow.invalid", `${given} cannot be drawn`, { diagnostics });
    const { inner } = readInner(workspace, { workflow, document: given, inline, place });
    const taint = await taintOf(workspace, { workflow, inline, inner });
    await io.outText(
      await draw(
        () => workflowMermaid(workflow, { inner, taint }),
        () => workflowDot(workflow, { inner, taint }),
      ),
    );
    return 0;
  }
  const { stored } = await findRecording(workspace, given);
  const result = describeResult(stored.record, stateOf(stored));
  await io.outText(
    await draw(
      () => runMermaid(stored.record, result),
      () => runDot(stored.record, result),
    ),
  );
  return 0;
};
