import { planRecheck, prepareRecheck, recheckOf } from "../../../app/runs/afterwards/recheck.ts";
import { readEnded } from "../../../app/runs/afterwards/verify.ts";
import { startRun } from "../../../app/runs/drive.ts";
import { environmentRedactor } from "../../../app/secrets.ts";
import { completeReport } from "../../../app/views/reports.ts";
import { usageError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { shortText } from "../../../core/base/preview.ts";
import { parseDuration } from "../../../core/base/values.ts";
import type { Recheck } from "../../../core/engine/recheck/answer.ts";
import { text } from "../../flags.ts";
import { continuedRun, interruptSignal } from "../../io.ts";
import { checkPlaces, chooseOutputs, writeOutputs } from "../../outputs.ts";
import { tellingRefusal } from "../../refused.ts";
import { jsonText, type Paint, painter } from "../../terminal/terminal.ts";
import { openRecorded, personAt } from "../../terminal/trust.ts";
import { watchStart } from "./run.ts";

export const recheck = tellingRefusal(async (io, _, flags) => {
  const outputs = chooseOutputs(flags);
  const given = text(flags, "window");
  const window = given === undefined ? undefined : parseDuration(given);
  if (given !== undefined && window === undefined)
    throw usageError(`--window ${given} is not a duration above 0`, "such as 30m");
  const workspace = await openRecorded(io, flags);
  io.protect(environmentRedactor(workspace));
  const of = await readEnded(workspace, continuedRun(io).record.run);
  const plan = await planRecheck(workspace, of, window);
  const signal = interruptSignal(io);
  const connect = { signal, person: personAt(io) };
  const prepared = await prepareRecheck(workspace, plan, { choices: flags, connect });
  try {
    checkPlaces(io, outputs);
    io.protect(prepared.redactor);
    const watch = await watchStart(io, flags, { workspace, prepared, signal });
    const finished = await startRun(workspace, prepared, { ...watch, observers: [] });
    io.beginning.isTold = true;
    const answer = recheckOf(finished);
    const report = completeReport(io.host, finished);
    await writeOutputs(io, outputs, { report, planned: undefined, written: [] });
    if (flags.json === true) await io.out(jsonText(answer));
    const { result } = report;
    const lines = describe(answer, painter(io, flags), result.error?.message);
    // Quiet, only what a person has to know of is printed.
    const shown = flags.quiet !== true ? lines : result.exitCode === 0 ? [] : lines.slice(0, 1);
    if (shown.length > 0) await io.err(`${shown.join("\n")}\n`);
    return result.exitCode;
  } finally {
    await prepared.close();
  }
}, "recheck");

const WORDS = { held: "held", not_held: "not held", inconclusive: "inconclusive" } as const;
const COLORS = { held: "green", not_held: "red", inconclusive: "yellow" } as const;

function describe({ run, of, answer, claims }: Recheck, paint: Paint, ended: string | undefined): string[] {
  const lines = claims.map(({ claim, answer: own, reason, now }) => {
    const found = own === "not_held" ? `: ${shortText(typeof now === "string" ? now : JSON.stringify(now), 160)}` : "";
    const why = reason === undefined ? "" : paint("dim", ` (${plainLine(reason + found)})`);
    return `  ${paint(COLORS[own], WORDS[own])}: ${plainLine(claim)}${why}`;
  });
  const head = `${paint([COLORS[answer], "bold"], WORDS[answer])}: recheck of run ${plainLine(of)}`;
  const none = claims.length === 0 ? ["  the run has no kept claim"] : [];
  const early = ended === undefined ? [] : [`  ended early: ${plainLine(ended)}`];
  return [head, ...lines, ...none, ...early, paint("dim", `  recorded as ${plainLine(run)}`)];
}
