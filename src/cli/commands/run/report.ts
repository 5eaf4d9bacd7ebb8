import { recordedReport } from "../../../app/runs/inspect.ts";
import { usageError } from "../../../core/base/errors.ts";
import { openProject } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { checkPlaces, chooseOutputs, type WrittenFile, writeOutputs } from "../../outputs.ts";

export const report: Action = async (io, [given = ""], flags) => {
  const outputs = chooseOutputs(flags);
  if (outputs.out === undefined && outputs.reports.length === 0) {
    throw usageError("no report was requested", "name a folder with --out DIR, or files with --report KIND=PATH");
  }
  const told = await recordedReport(openProject(io, flags), given);
  checkPlaces(io, outputs);
  const written: WrittenFile[] = [];
  const planned = told.plan && { plan: told.plan, place: undefined };
  await writeOutputs(io, outputs, { report: told.report, planned, written });
  for (const { path } of written) await io.outText(`${path}\n`);
  return 0;
};
