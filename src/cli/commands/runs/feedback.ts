import { recordFeedback } from "../../../app/runs/afterwards/feedback.ts";
import { openWorkspace } from "../../../app/workspace.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { projectOptions, text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { personAtWork } from "../../terminal/person.ts";
import { jsonText } from "../../terminal/terminal.ts";

export const feedback: Action = async (io, [run = "", judgement = ""], flags) => {
  const workspace = openWorkspace(io.host, projectOptions(flags));
  const by = text(flags, "by") ?? personAtWork(io);
  const line = await recordFeedback(workspace, run, { judgement, cause: text(flags, "cause"), by });
  if (flags.json === true) {
    await io.out(jsonText(line));
    return 0;
  }
  const cause = line.cause === undefined ? "" : `  cause: ${plainLine(line.cause)}\n`;
  await io.outText(`${plainLine(line.run)}: ${line.judgement}, says ${plainLine(line.by)}\n${cause}`);
  return 0;
};
