import { askRun } from "../../../app/runs/afterwards/ask.ts";
import { environmentRedactor } from "../../../app/secrets.ts";
import { plainLine, plainText } from "../../../core/base/inert.ts";
import { type Ask, leadOf } from "../../../core/engine/record/ask.ts";
import { continuedRun, interruptSignal } from "../../io.ts";
import { tellingRefusal } from "../../refused.ts";
import { plainProgress } from "../../terminal/progress/plain.ts";
import { jsonText, type Paint, painter } from "../../terminal/terminal.ts";
import { openRecorded, personAt } from "../../terminal/trust.ts";
import { watchStart } from "../run/run.ts";

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

function describe(asked: Ask, paint: Paint): string {
  const { marks, text } = leadOf(asked);
  const shown = asked.claims.flatMap(({ claim, evidence }) => [
    `- ${plainLine(claim)}`,
    ...evidence.map(({ ref, quote }) => paint("dim", `  [${plainLine(ref)}] ${plainLine(quote)}`)),
  ]);
  return [
    ...(marks.length > 0 ? [...marks.map((mark) => paint("yellow", mark)), ""] : []),
    ...(text === undefined ? [] : [plainText(text), ""]),
    ...shown,
    paint("dim", `about run ${plainLine(asked.of)}, recorded as ${plainLine(asked.run)}`),
    "",
  ].join("\n");
}
