import { extname } from "node:path";
import { inputError, SkillflowError } from "../../core/base/errors.ts";
import type { JsonObject } from "../../core/base/values.ts";
import { codeOfEnding, type ForeignCommand, readOnly } from "../../core/skill/sandbox.ts";
import type { Effect, Skill, ToolContext } from "../../core/skill/skill.ts";
import { isProgram } from "../../files/files.ts";
import { resolveInsideNow } from "../folder/contain.ts";
import type { LoaderHost } from "../folder/host.ts";
import type { Contents } from "../folder/skill-contents.ts";
import { readNetwork } from "../folder/skill-folder.ts";
import { declaredEnv, SCRIPT_LIMITS } from "./script-handler.ts";
import { mountWorkDir } from "./working-directory.ts";

/** Scripts that a skill bundles and its instructions ask the model to run: the third tier of Agent Skills. */

export interface SkillScripts {
  readonly directory: string;
  readonly contents: Pick<Contents, "check" | "sourceOf">;
  readonly effect: Effect;
  readonly frontmatter: { readonly [key: string]: unknown };
}

export interface ScriptWanted {
  readonly path: string;
  readonly args?: readonly string[];
  readonly stdin?: string;
}

/** Runs one script and returns its exit code and output. Throws if it cannot run or exceeds a limit. */
export async function runSkillScript(
  host: LoaderHost,
  { scripts, skill, path, args = [], stdin = "" }: ScriptWanted & { scripts: SkillScripts; skill: Skill },
  context: ToolContext,
): Promise<JsonObject> {
  const { directory, frontmatter } = scripts;
  const place = resolveInsideNow(directory, path);
  if (!place.inside) throw inputError(`the script ${path} of ${skill.id} ${place.message}`);
  if (!place.relative.startsWith("scripts/")) throw inputError(`${path} is not a file in scripts/ of ${skill.id}`);
  scripts.contents.check();
  const { workDir, signal } = context;
  const result = await host.runForeign({
    argv: [...programFor(path, place.path, host.nodePath), ...args],
    stdin,
    env: declaredEnv(skill, context),
    mounts: [mountWorkDir(host, workDir, [directory]), readOnly(scripts.contents.sourceOf(directory, host), directory)],
    cwd: workDir,
    network: declaredNetwork(frontmatter),
    limits: LIMITS,
    signal,
  });
  if (result.ended === "aborted") throw signal.reason;
  const { ended, code, stdout, stderr, truncated } = result;
  if (ended !== "exit") {
    throw new SkillflowError(codeOfEnding(ended), `the script ${path} was ended at its limit of ${ended}`);
  }
  return { exit_code: code ?? null, stdout, stderr, ...(truncated ? { truncated } : {}) };
}

/** A model reads the output, so it has a lower limit than a handler's result. */
const LIMITS = { ...SCRIPT_LIMITS, outputBytes: 1024 * 1024 };

function programFor(name: string, path: string, nodePath: string): ForeignCommand["argv"] {
  switch (extname(name)) {
    case ".py":
      return ["python3", "-B", "-X", "utf8", path];
    case ".js":
    case ".mjs":
    case ".cjs":
      return [nodePath, path];
    case ".sh":
      return ["sh", path];
    case ".bash":
      return ["bash", path];
    default:
      if (isProgram(path)) return [path];
      throw inputError(
        `the script ${name} cannot be run: it is not a .py, .js, .mjs, .cjs, .sh or .bash file, and not executable`,
      );
  }
}

/** Returns the hosts that the skill's scripts may reach. The prose in `compatibility` does not count. */
export function declaredNetwork(frontmatter: SkillScripts["frontmatter"]): false | readonly string[] {
  const { hosts } = readNetwork(frontmatter);
  return hosts.length > 0 && hosts;
}
