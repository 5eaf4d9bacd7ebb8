import { extname, join, posix } from "node:path";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { attempt } from "../../../core/base/errors.ts";
import type { Hint } from "../../../core/base/options.ts";
import { isObject, typeOf } from "../../../core/base/values.ts";
import { TOOL_REACH_KEYS } from "../../../core/skill/formats/tool-reach.ts";
import { isProgram } from "../../../files/files.ts";
import { faultOfFile } from "../../folder/lint-contents.ts";
import { type Complain, type Manifest, type Path, unknownKeys } from "../../folder/manifest.ts";
import type { OpenDocument, SkillFolder } from "../../folder/skill-folder.ts";

const TOOL_KEYS = ["name", "description", "script", "parameters", "effect", ...TOOL_REACH_KEYS];
const PARAMETER_KEYS = ["type", "description", "enum", "optional"];
const EXTENSIONS = [".js", ".mjs", ".ts", ".mts", ".py", ".sh"];

interface Place {
  readonly folder: SkillFolder;
  readonly document: string;
  readonly problem: Complain;
  readonly path: Path;
}

/** Checks what no run needs to know of the tools: unknown keys, and the text of the scripts (sections 4 to 6). */
export function checkDetails(folder: SkillFolder, open: OpenDocument, { value, problem }: Manifest): Diagnostic[] {
  const document = "parsed" in open ? open.text : open.fault.body;
  return (Array.isArray(value) ? value : []).flatMap((tool: unknown, index) => {
    if (!isObject(tool)) return [];
    const place = { folder, document, problem, path: [index, "script"] };
    return [
      ...unknownKeys(problem, tool, { known: TOOL_KEYS, path: [index] }),
      ...checkParameters(problem, tool.parameters, [index, "parameters"]),
      ...(typeof tool.script === "string" ? checkScript(place, tool.script) : []),
    ];
  });
}

function checkParameters(problem: Complain, parameters: unknown, base: Path): Diagnostic[] {
  if (!isObject(parameters) || typeof parameters.type === "string") return [];
  return Object.entries(parameters).flatMap(([name, parameter]) => {
    if (name === "__workDir" || !isObject(parameter)) return [];
    const { type, enum: allowed } = parameter;
    const path = [...base, name];
    const isMixed = Array.isArray(allowed) && !allowed.every((value) => typeOf(value) === type);
    const message = `the enum of parameter ${name} must be a list of values of its type`;
    return [
      ...unknownKeys(problem, parameter, { known: PARAMETER_KEYS, path }),
      ...(isMixed ? [problem("warning", "PARAMETER_ENUM", [...path, "enum"], message)] : []),
    ];
  });
}

/** Checks a script that exists. Reading the tool reports one that does not. */
function checkScript(place: Place, script: string): Diagnostic[] {
  const { folder, problem, path } = place;
  if (faultOfFile(folder, script.replace(/^\.\//, "")) !== undefined) return [];
  const extension = extname(script);
  if (!EXTENSIONS.includes(extension) && !isProgram(join(folder.directory, script))) {
    const message = `no program is known to run "${extension}" files, and ${script} is not executable`;
    return [problem("error", "TOOL_SCRIPT", path, { message, hint: `use one of ${EXTENSIONS.join(", ")}` })];
  }
  const found: Diagnostic[] = [];
  if (posix.normalize(script).split("/")[0] !== "scripts") {
    found.push(problem("warning", "TOOL_SCRIPT_PLACE", path, `${script} should be in scripts/`));
  }
  const text = attempt(() => folder.read(posix.normalize(script))) ?? "";
  const handler = missingHandler(extension, text);
  if (handler) found.push(problem("warning", "TOOL_HANDLER", path, `${script} ${handler}`));
  return [...found, ...checkVariables(place, text)];
}

function missingHandler(extension: string, text: string): string | undefined {
  if (extension === ".py") return /^def\s+handler\s*\(/m.test(text) ? undefined : "defines no function handler(args)";
  if (extension === ".sh" || !EXTENSIONS.includes(extension)) return undefined;
  return /\bexport\s+default\b|\bas\s+default\b/.test(text) ? undefined : "has no default export";
}

const VARIABLES =
  /process\.env\.([A-Z]\w*)|(?:process\.env|os\.environ)\[\s*["']([A-Z]\w*)["']|os\.(?:environ\.get|getenv)\(\s*["']([A-Z]\w*)["']/g;
const GIVEN = new Set(["PATH", "HOME", "LANG", "TMPDIR"]);

/** Warns about environment variables that the document does not mention (Skill Tools 1.0.0, section 6). */
function checkVariables({ folder, document, problem, path }: Place, script: string): Diagnostic[] {
  const read = [...script.matchAll(VARIABLES)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
  const untold = [...new Set(read)].filter((name) => !GIVEN.has(name) && !document.includes(name));
  return untold.map((name) => {
    const option = { option: "skill-env", value: `${folder.name}=${name}` } as const;
    const hint: Hint = ['name it in a section "Configuration"; pass it to a run with ', option];
    return problem("warning", "TOOL_VARIABLE", path, {
      message: `SKILL.md does not mention ${name}, which the script reads`,
      hint,
    });
  });
}
