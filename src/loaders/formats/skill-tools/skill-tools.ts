import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { describeNetwork } from "../../../core/base/address/declared-host.ts";
import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { actedOf, messageOf } from "../../../core/base/errors.ts";
import type { Json, JsonObject } from "../../../core/base/values.ts";
import { claimedEffects } from "../../../core/skill/formats/tool-reach.ts";
import type { ForeignCommand } from "../../../core/skill/sandbox.ts";
import type { Tool, ToolContext } from "../../../core/skill/skill.ts";
import { resolveInsideNow } from "../../folder/contain.ts";
import type { FolderFormat, LoadedSkill } from "../../folder/format.ts";
import type { LoaderHost } from "../../folder/host.ts";
import { openManifest } from "../../folder/manifest.ts";
import { openDocument, type SkillFolder } from "../../folder/skill-folder.ts";
import { mountOf } from "../../programs/package-run.ts";
import { callScript, declaredEnv } from "../../programs/script-handler.ts";
import { declaredNetwork } from "../../programs/skill-script.ts";
import { checkDocument } from "../agent-skills/lint.ts";
import { instructionSkill } from "../agent-skills/skill-document.ts";
import { checkDetails } from "./lint.ts";
import { type CheckScript, type ReadTools, readTools, type ToolDeclaration } from "./tool-manifest.ts";

/** Loads Skill Tools 1.0.0: a SKILL.md, and a tools.json that lists tools with a script each. */
export const skillTools: FolderFormat = {
  recognises: ({ names }) => names.has("SKILL.md") && names.has("tools.json"),
  read(folder, host) {
    const document = openDocument(folder);
    const manifest = openManifest(folder, "tools.json", "json");
    const read = readTools(manifest, checkScriptOf(folder));
    return {
      loaded: withTools(instructionSkill(folder, document), read, { folder, host }),
      format: "skill-tools",
      lint: () => [
        ...checkDocument(folder, document, "skill-tools"),
        ...read.strict(),
        ...("fault" in manifest ? [] : checkDetails(folder, document, manifest)),
      ],
    };
  },
};

function withTools(
  loaded: LoadedSkill | Diagnostic,
  { tools, diagnostics }: ReadTools,
  { folder, host }: Pick<Surroundings, "folder" | "host">,
): LoadedSkill | Diagnostic {
  if ("severity" in loaded) return loaded;
  const scripts = tools.filter(({ script }) => script !== undefined);
  const network = networkOf(loaded.frontmatter);
  return {
    ...loaded,
    format: "skill-tools",
    kind: tools.length > 0 ? "tools" : loaded.kind,
    skill: { ...loaded.skill, tools: tools.map((tool) => buildTool(tool, { loaded, folder, host })) },
    runsCode: scripts.length > 0,
    effects: claimedEffects(scripts, loaded.frontmatter),
    code: network === false ? [] : [`its scripts with ${describeNetwork(network)}`],
    mounts: mountsOf(loaded.skill.id, tools, folder),
    diagnostics: [...loaded.diagnostics, ...diagnostics],
  };
}

/** Returns the Python handlers to mount. A single one has the skill's name, several have `skill.tool`. */
function mountsOf(id: string, tools: readonly ToolDeclaration[], folder: SkillFolder) {
  const python = tools.filter(({ script }) => script?.endsWith(".py"));
  return python.flatMap(({ name, script = "" }) =>
    mountOf(python.length === 1 ? id : `${id}.${name}`, folder, { file: script, export: "handler" }),
  );
}

/** Checks a script synchronously at load time. Every call checks it again. */
function checkScriptOf({ directory }: SkillFolder): CheckScript {
  return (script) => {
    if (isAbsolute(script)) return { refused: true, message: "is an absolute path; write it relative to the folder" };
    const place = resolveInsideNow(directory, script);
    if (!place.inside) return { refused: place.reason === "outside", message: place.message };
    return statSync(place.path).isFile() ? undefined : { refused: false, message: "is not a file" };
  };
}

interface Surroundings {
  readonly loaded: LoadedSkill;
  readonly folder: SkillFolder;
  readonly host: LoaderHost;
}

function buildTool(declaration: ToolDeclaration, { loaded, folder, host }: Surroundings): Tool {
  const { name, description, input_schema, script, reach } = declaration;
  const { skill, frontmatter } = loaded;
  if (script === undefined) {
    return { name, description, input_schema, effect: "read", ...reach, handler: () => readInstructions(skill.id) };
  }
  const network = networkOf(frontmatter);
  const handler = async (input: JsonObject, context: ToolContext): Promise<Json> => {
    const { workDir, signal } = context;
    const call = { env: declaredEnv(skill, context), workDir, signal, withWorkDir: true, network };
    try {
      const { directory, contents } = folder;
      return await callScript(host, { directory, file: script, contents }, input, call);
    } catch (error) {
      if (network || signal.aborted || !NO_NETWORK.test(messageOf(error))) throw error;
      throw Object.assign(new Error(`${messageOf(error)} (${HOW_TO_DECLARE})`), { acted: actedOf(error) });
    }
  };
  return { name, description, input_schema, effect: "write", ...reach, handler };
}

/** Messages of Node, Python and curl for a missing network. */
const NO_NETWORK =
  /\b(ENETUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED)\b|network is unreachable|name resolution|could not resolve host|connection refused/i;

const HOW_TO_DECLARE =
  'the skill has no network: write "compatibility: Requires network access" or the hosts of metadata.network in its SKILL.md';

function readInstructions(skill: string): string {
  return (
    `This tool runs nothing by itself: the instructions of the skill "${skill}" explain how to do it. Follow them; ` +
    `if you have not read them, call read_skill with the skill_name "${skill}" first.`
  );
}

function networkOf({ compatibility, ...rest }: LoadedSkill["frontmatter"]): ForeignCommand["network"] {
  return needsNetwork(compatibility) || declaredNetwork(rest);
}

/** Checks whether the author states in prose that the skill needs a network: "Requires network access". */
function needsNetwork(compatibility: unknown): boolean {
  if (typeof compatibility !== "string") return false;
  const clauses = compatibility.split(/[.,;\n]|\bbut\b/);
  return clauses.some(
    (clause) => /\b(network|internet)\b/i.test(clause) && !/\b(no|not|without|never)\b/i.test(clause),
  );
}
