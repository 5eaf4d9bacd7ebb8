import { type Verification, verifyRun } from "../../../app/runs/afterwards/verify.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { firstOf } from "../../../core/base/preview.ts";
import { openProject, text } from "../../flags.ts";
import type { Action } from "../../io.ts";
import type { Screen } from "../../terminal/sections.ts";
import { amount, jsonText, painter, screenOf } from "../../terminal/terminal.ts";

const MOST_SHOWN = 10;

export const verify: Action = async (io, [given = ""], flags) => {
  const workspace = openProject(io, flags);
  const { verification, exitCode } = await verifyRun(workspace, given, text(flags, "digest"));
  if (flags.json === true) await io.out(jsonText(verification));
  else await io.outText(describeVerification(verification, exitCode, screenOf(io, painter(io, flags))));
  return exitCode;
};

function describeVerification(verified: Verification, exitCode: 0 | 1 | 4, { paint, program }: Screen): string {
  const { run, ended, records, digest, problems } = verified;
  const id = plainLine(run);
  const heads = {
    0: `${paint(["green", "bold"], "✔ unaltered:")} run ${id}, ${amount(records, "record")}`,
    1: `${paint(["yellow", "bold"], "■ cannot be verified:")} run ${id}, ${amount(records, "record")}`,
    4: `${paint(["red", "bold"], "✘ altered:")} run ${id}`,
  };
  const hints = {
    0: `keep the digest elsewhere to detect a rewritten record: ${program} runs verify ${id} --digest D`,
    1: ended ? "the record has no digests" : `continue it: ${program} resume ${id}`,
    4: "resume and replay reject an altered record",
  };
  const lines = problems.map(({ record, line, what }) => {
    return `  line ${line} ${paint("dim", `(record ${record})`)}: ${plainLine(what)}`;
  });
  return [
    heads[exitCode],
    ...firstOf(lines, MOST_SHOWN, (left) => `  and ${amount(left, "problem")} more`),
    ...(digest === null ? [] : [paint("dim", `  digest ${digest}`)]),
    paint("dim", `  ${hints[exitCode]}`),
    "",
  ].join("\n");
}
