import { existsSync, statSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { documentsOf, type Workspace } from "../../../app/host.ts";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { usageError } from "../../../core/base/errors.ts";
import { didYouMean } from "../../../core/base/values.ts";
import { openProject } from "../../flags.ts";
import type { Action, Io } from "../../io.ts";
import { framesOf } from "../../terminal/frame.ts";
import { amount, describeDiagnostic, jsonText, painter } from "../../terminal/terminal.ts";

export const lintSkills: Action = async (io, targets, flags) => {
  const workspace = openProject(io, flags);
  const found = await Promise.all(targets.map((target) => lintTarget(workspace, target)));
  const distinct = new Map(found.flat().map((skill) => [skill.directory, skill]));
  const linted = targets.length === 0 ? await workspace.skills.lint() : [...distinct.values()];
  const problems = linted.flatMap(({ skill, problems: own }) =>
    own.map((problem) => ({ ...seenFrom(io, problem), skill })),
  );
  const errors = problems.filter(({ severity }) => severity === "error").length;
  if (flags.json === true) {
    const shown = problems.map(({ severity, code, message, file, line, column, skill }) => {
      return { severity, code, message, path: file ?? null, line: line ?? null, column: column ?? null, skill };
    });
    await io.out(jsonText({ schema: "skillflow.lint/1", problems: shown }));
  } else {
    const paint = painter(io, flags);
    const frame = framesOf(io, paint, flags);
    for (const problem of problems) {
      await io.err(`${describeDiagnostic(problem, paint, frame(problem))}\n`);
    }
    const counts = `${amount(errors, "error")}, ${amount(problems.length - errors, "warning")}`;
    const mark = errors > 0 ? paint("red", "✘") : paint("green", "✔");
    if (flags.quiet !== true) await io.err(`${mark} ${amount(linted.length, "skill")}: ${counts}\n`);
  }
  return errors > 0 ? 2 : 0;
};

type Linted = Awaited<ReturnType<Workspace["skills"]["lint"]>>;

/** Lints the skills at a path or, if there are none, the skill with that id. */
async function lintTarget({ host, skills }: Workspace, target: string): Promise<Linted> {
  const path = resolve(documentsOf(host), target);
  if (existsSync(path)) {
    const linted = await skills.lint([statSync(path).isDirectory() ? path : dirname(path)]);
    if (linted.length > 0) return linted;
  }
  const entry = await skills.find(target);
  if (entry?.source.path) return skills.lint([entry.source.path]);
  if (existsSync(path)) {
    const hint = "a skill is a folder with a SKILL.md, a skill.toml, a contract.yml or a skill.ts";
    throw usageError(`there is no skill in ${target}`, hint);
  }
  throw usageError(
    `there is no folder or skill "${target}"`,
    didYouMean(target, skills.ids) ?? "run skillflow skills list",
  );
}

function seenFrom({ host }: Io, problem: Diagnostic): Diagnostic {
  if (problem.file === undefined) return problem;
  const path = relative(documentsOf(host), problem.file);
  return path.startsWith("..") || path === "" ? problem : { ...problem, file: path };
}
