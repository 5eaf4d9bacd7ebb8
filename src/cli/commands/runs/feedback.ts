import { personAtWork } from "../../../app/adapters/person.ts";
import { recordFeedback } from "../../../app/runs/afterwards/feedback.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { openProject, text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { printJson } from "../../terminal/terminal.ts";

export const feedback: Action = async (io, [run = "", judgement = ""], flags) => {
  const workspace = openProject(io, flags);
  const by = text(flags, "by") ?? personAtWork(io);
  const line = await recordFeedback(workspace, run, { judgement, cause: text(flags, "cause"), by });
  if (flags.json === true) return printJson(io, line);
  const cause = line.cause === undefined ? "" : `  cause: ${plainLine(line.cause)}\n`;
  await io.outText(`${plainLine(line.run)}: ${line.judgement}, says ${plainLine(line.by)}\n${cause}`);
  return 0;
};
