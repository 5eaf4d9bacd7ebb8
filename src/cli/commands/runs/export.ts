import { resolve } from "node:path";
import { exportSpans, OTLP_URL } from "../../../app/adapters/otlp.ts";
import { findRecording } from "../../../app/adapters/stores.ts";
import { reportOf } from "../../../app/runs/inspect.ts";
import { usageError } from "../../../core/base/errors.ts";
import { VERSION } from "../../../files/own-files.ts";
import { atifTrajectory } from "../../../reports/telemetry/atif.ts";
import { openGuarded, text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import { writeReport } from "../../outputs.ts";
import { amount, jsonText } from "../../terminal/terminal.ts";

export const exportRun: Action = async (io, [given = ""], flags) => {
  const workspace = openGuarded(io, flags);
  const format = text(flags, "format");
  const url = text(flags, "otlp") ?? (format === undefined ? io.host.env[OTLP_URL] : undefined);
  if (url === undefined && format === undefined) {
    throw usageError(
      "no destination was given",
      `send spans with --otlp URL or ${OTLP_URL}, or write a trajectory with --format atif`,
    );
  }
  const { stored } = await findRecording(workspace, given);
  if (format !== undefined) {
    const trajectory = jsonText(atifTrajectory(reportOf(stored), { version: VERSION }));
    const out = text(flags, "out");
    if (out === undefined) await io.out(trajectory);
    else await writeReport(io, resolve(io.host.cwd, out), trajectory);
  }
  if (url !== undefined) {
    const sent = await exportSpans(io.host.env, stored, { url, content: flags.otlpContent === true });
    if (flags.quiet !== true) await io.err(`${amount(sent, "span")} sent\n`);
  }
  return 0;
};
