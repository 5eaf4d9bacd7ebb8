import { askRun } from "../../../app/runs/afterwards/ask.ts";
import { environmentRedactor } from "../../../app/secrets.ts";
import { plainLine, plainText } from "../../../core/base/inert.ts";
import type { Ask } from "../../../core/engine/record/ask.ts";
import { continuedRun, interruptSignal } from "../../io.ts";
import { tellingRefusal } from "../../refused.ts";
import { plainProgress } from "../../terminal/progress/plain.ts";
import { jsonText, type Paint, painter } from "../../terminal/terminal.ts";
import { openRecorded, personAt } from "../../terminal/trust.ts";
import { watchStart } from "../run/run.ts";

/** Runs `skillflow ask`: a model answers a question about an earlier run from its record. */
export const ask = tellingRefusal(async (io, [, question = ""], flags) => {
  const { run } = continuedRun(io).record;
  const workspace = await openRecorded(io, flags);
  io.protect(environmentRedactor(workspace));
  const signal = interruptSignal(io);
  const progress = plainProgress((line) => void io.err(line));
  const answer = await askRun(workspace, run, question, {
    choices: flags,
    live: flags.live === true,
    connect: { signal, person: personAt(io) },
    async watch(prepared) {
      io.protect(prepared.redactor);
      const watch = await watchStart(io, flags, { workspace, prepared, signal });
      return { ...watch, observers: flags.quiet === true ? [] : [progress] };
    },
  });
  io.beginning.isTold = true;
  if (flags.json === true) await io.out(jsonText(answer));
  else await io.outText(describe(answer, painter(io, flags)));
  return answer.claims.length > 0 ? 0 : 1;
}, "ask");

function describe({ run, of, answer, claims, evidence }: Ask, paint: Paint): string {
  const shown = claims.flatMap(({ claim, evidence: cites }) => [
    `- ${plainLine(claim)}`,
    ...cites.map(({ ref, quote }) => paint("dim", `  [${plainLine(ref)}] ${plainLine(quote)}`)),
  ]);
  const dropped = evidence.claims - claims.length;
  const none = paint("yellow", "No claim of this answer is supported by the record.");
  return [
    ...(claims.length > 0 ? [plainText(answer), "", ...shown] : [none, "", plainText(answer), ""]),
    ...(dropped > 0
      ? [paint("dim", `${dropped} of ${evidence.claims} claims removed: the quoted results do not show them`)]
      : []),
    paint("dim", `about run ${plainLine(of)}, recorded as ${plainLine(run)}`),
    "",
  ].join("\n");
}
