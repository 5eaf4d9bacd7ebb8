import { type Explained, explainCode, explainedCodes, gistOf } from "../../../core/base/codes/explained.ts";
import { usageError } from "../../../core/base/errors.ts";
import { nearest } from "../../../core/base/values.ts";
import { text } from "../../flags.ts";
import type { Flags, Io } from "../../io.ts";
import { type Paint, painter, printJson, programName } from "../../terminal/terminal.ts";
import { wrapLines } from "../../terminal/wrap.ts";

export async function explain(io: Io, others: readonly string[], flags: Flags): Promise<number> {
  if (others.length > 0) {
    const message = `--explain takes one code and no workflow: leave out ${others.join(", ")}`;
    throw usageError(message);
  }
  const given = text(flags, "explain");
  const found = given === undefined ? undefined : (explainCode(given) ?? unknownCode(io, given));
  if (flags.json === true || flags.format === "json") {
    const document = found
      ? { schema: "skillflow.explanation/1", ...found }
      : { schema: "skillflow.explanations/1", codes: explainedCodes() };
    return printJson(io, document);
  }
  const paint = painter({ host: io.host, isTerminal: io.outColumns !== undefined }, flags);
  const lines = found
    ? describeExplained(found, paint)
    : [
        ...explainedCodes().map((each) => `${paint("bold", each.code)} ${gistOf(each)}`),
        paint("dim", `explain one with ${programName(io)} validate --explain CODE`),
      ];
  await io.outText(wrapLines(`${lines.join("\n")}\n`, io.outColumns && Math.min(io.outColumns, WIDEST)));
  return 0;
}

/** Maximum width, because longer lines are hard to read. */
const WIDEST = 100;

function unknownCode(io: Io, given: string): never {
  const codes = new Map(explainedCodes().map(({ code }) => [code.toLowerCase(), code]));
  const near = codes.get(nearest(given.toLowerCase(), codes.keys()) ?? "");
  throw usageError(
    `there is no code "${given}"`,
    near ? `did you mean ${near}?` : `list all codes with ${programName(io)} validate --explain`,
  );
}

function describeExplained(found: Explained, paint: Paint): string[] {
  const { code, what, why, mend, example } = found;
  const kind = found.kind === "finding" ? "a finding" : `an error, exit code ${found.exitCode}`;
  const shown = (said: string) => said.replace(/`[^`]+`/g, (span) => paint("cyan", span));
  const sample = (label: string, colour: "red" | "green", written: string) => [
    paint(colour, label),
    ...written.split("\n").map((line) => `  ${line}`),
  ];
  return [
    `${paint("bold", code)} ${paint("dim", `(${kind})`)}`,
    "",
    shown(what),
    ...(why === undefined ? [] : ["", `${paint("bold", "Usual cause:")} ${shown(why)}`]),
    "",
    `${paint("bold", "What to do:")} ${shown(mend)}`,
    ...(example ? ["", ...sample("Wrong:", "red", example.wrong)] : []),
    ...(example ? ["", ...sample("Right:", "green", example.right)] : []),
  ];
}
