import { existsSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { projectFolder } from "../../../app/workspace.ts";
import { unwritten, usageError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { didYouMean } from "../../../core/base/values.ts";
import { FORMATS, type Format } from "../../../core/skill/skill.ts";
import { makeFolder } from "../../../files/files.ts";
import { isCi } from "../../ci/ci.ts";
import { list, openProject, text } from "../../flags.ts";
import { type Action, confirms, type Flags, type Io } from "../../io.ts";
import { fillTemplates, slugOf, titleOf } from "../../templates/fill.ts";
import { painter, programName } from "../../terminal/terminal.ts";

/** Advice on what to change first in a new skill, by format. */
const ADVICE: Readonly<Record<Format, string>> = {
  "agent-skills": "describe when to use it in the description, and how in the text",
  "skill-tools": "declare its tools in tools.json, and write a handler for each in scripts/",
  "tool-descriptor": "list its programs in the allowlist, and map each tool's parameters to arguments",
  contract: "write the contract that the model sees, and bind it to the code that performs it",
  sweny: "list the config that it needs, and write its instruction",
  "skills-protocol": "describe the package in skill.toml, and write the function that it exports",
  module: "write its tools; unknown effects count as write",
  mcp: "set your server's command or url; paths in args are relative to the working directory",
};

export interface Begun {
  readonly id: string;
  readonly format: Format;
  /** Returns the files, with paths relative to the skill's folder. Takes the folder's name. */
  readonly files: (folder: string) => readonly (readonly [path: string, text: string])[];
  readonly advice: string;
  /** Variables that the skill reads. */
  readonly sets?: readonly string[];
  /** Variables that the skill sends, with the recipient: `A_TOKEN to api.example`. */
  readonly sends?: string | undefined;
}

export const newSkill: Action = async (io, args, flags) => {
  const begun = text(flags, "from") === undefined ? fromTemplate(args, flags) : await fromDescription(io, args, flags);
  const { id, folder } = nameSkill(begun.id, begun.format);
  const directory = join(projectFolder(io.host), "skills", folder);
  await refuseBuiltin(io, id, flags);
  const shown = relative(io.host.cwd, directory) || ".";
  if (existsSync(directory)) {
    const hint = "choose another id, or remove the existing skill";
    throw usageError(`${shown} already exists; nothing was written`, hint);
  }
  if (!(await maySend(io, begun))) return 1;
  const files = begun.files(folder);
  writeFiles(projectFolder(io.host), directory, files);
  const paint = painter(io, flags);
  for (const [path] of files) await io.err(`${paint("green", "+")} ${join(shown, path)}\n`);
  if (flags.quiet === true) return 0;
  const program = programName(io);
  const runsCode = begun.format !== "agent-skills" && begun.format !== "sweny";
  const next = `${program} skills show ${id}${runsCode ? ` --trust-skill ${id}` : ""}`;
  await io.err(`\n${paint("bold", id)} is a skill in the format ${begun.format}: ${begun.advice}.\n`);
  if (begun.sends !== undefined) await io.err(`Sends:     ${plainLine(begun.sends)}\n`);
  if (begun.sets && begun.sets.length > 0) await io.err(`Set:       ${begun.sets.join(", ")}\n`);
  await io.err(`Check it:  ${program} skills lint ${shown}\n`);
  await io.err(`See it:    ${next}\n`);
  await io.err(`Use it:    list ${id} under skills: of a node\n`);
  return 0;
};

/** Confirms what the API description makes the skill send. Skipped without a terminal: its variables are not set yet. */
async function maySend(io: Io, { id, sends }: Begun): Promise<boolean> {
  if (sends === undefined || !io.ask || isCi(io.host.env)) return true;
  await io.err(`${id} sends ${plainLine(sends)}.\n`);
  if (await confirms(io, "Write the skill?")) return true;
  await io.err("Nothing was written.\n");
  return false;
}

function fromTemplate([id, extra]: readonly string[], flags: Flags): Begun {
  if (id === undefined) throw usageError("no skill id was given: skills new ID");
  if (extra !== undefined) throw usageError(`${extra} requires --from openapi`);
  if (list(flags, "operation").length > 0) throw usageError("--operation requires --from openapi FILE");
  const format = formatOf(text(flags, "format") ?? "agent-skills");
  const files = (folder: string) => newSkillFiles(format, { id: nameSkill(id, format).id, folder });
  return { id, format, files, advice: ADVICE[format] };
}

export function newSkillFiles(format: Format, names: { readonly id: string; readonly folder: string }) {
  return fillTemplates(`skills/${format}`, { ...names, title: titleOf(names.folder) });
}

async function fromDescription(io: Io, args: readonly string[], flags: Flags): Promise<Begun> {
  const file = args.at(-1);
  if (file === undefined) throw usageError("no API description was given: skills new ID --from openapi FILE");
  if (flags.format !== undefined && flags.format !== "module")
    throw usageError("--from openapi supports only --format module");
  const { skillFromOpenapi } = await import("./from-openapi.ts");
  return skillFromOpenapi(io, file, list(flags, "operation"), args.length > 1 ? args[0] : undefined);
}

/** Throws if a built-in skill has this id, because the tools of the new skill would never be offered. */
async function refuseBuiltin({ host }: Io, id: string, flags: Flags): Promise<void> {
  const entry = await openProject({ host }, flags).skills.find(id);
  if (!entry?.isBuiltin) return;
  const hint = `choose another id, such as our-${id}`;
  throw usageError(`${id} is a built-in skill and cannot be replaced; nothing was written`, hint);
}

function formatOf(label: string): Format {
  const found = FORMATS.find((format) => format === label);
  if (found) return found;
  const hint = didYouMean(label, FORMATS) ?? `use one of ${FORMATS.join(", ")}`;
  throw usageError(`there is no skill format "${label}"`, hint);
}

/** Checks a skill's name. Contracts and packages may have dots. In a package's id, hyphens become dots. */
function nameSkill(given: string, format: Format): { readonly id: string; readonly folder: string } {
  const isDotted = format === "contract" || format === "skills-protocol";
  const plain = isDotted ? given.replaceAll(".", "-") : given;
  if (plain.length <= 64 && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(plain)) {
    return { id: format === "skills-protocol" ? given.replaceAll("-", ".") : given, folder: given };
  }
  const suggestion = slugOf(given, 64);
  const alphabet = isDotted
    ? "lowercase letters, digits, and single dots or hyphens"
    : "lowercase letters, digits and single hyphens";
  throw usageError(
    `"${given}" is not a valid skill id: use ${alphabet}, at most 64 characters`,
    suggestion ? `such as ${suggestion}` : undefined,
  );
}

/** Writes the files with the default permissions, because they belong in the team's repository. */
function writeFiles(root: string, directory: string, files: readonly (readonly [path: string, text: string])[]): void {
  try {
    for (const [path, content] of files) {
      const place = join(directory, path);
      makeFolder(dirname(place), { root, mode: 0o777 });
      writeFileSync(place, content, { flag: "wx" });
    }
  } catch (error) {
    throw unwritten("cannot write the skill", error);
  }
}
