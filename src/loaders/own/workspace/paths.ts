import { inputError } from "../../../core/base/errors.ts";
import { withoutEnd } from "../../../core/base/preview.ts";
import { PATTERN_TOO_SLOW, withinSecond } from "../../../core/base/schema/time-bound.ts";
import { matchesGlob } from "../../../core/skill/glob.ts";

/** Which files of a working copy a call may change. Names are compared as the most lenient file system would. */

/** Returns the segments of a path inside the copy. Throws for a path that leads out of it, or into `.git`. */
export function segmentsOf(path: string): readonly string[] {
  const fail = (why: string) => inputError(`${shown(path)} ${why}`);
  if (path.startsWith("/") || /^[a-z]:/i.test(path)) throw fail("is absolute: give a path inside the copy");
  if (/[\p{Cc}\\]/u.test(path)) throw fail("has a character that no path here has");
  const segments = path.split("/").filter((segment) => segment !== "." && segment !== "");
  if (segments.some((segment) => fold(segment) === "" || segment === "..")) throw fail("leads out of the copy");
  if (segments.some(isGitName)) throw fail("leads into .git, which the copy does not have");
  return segments;
}

/** Quotes a path for a message, without invisible characters. */
export function shown(path: string): string {
  return JSON.stringify(path.slice(0, 300)).replace(/\p{Default_Ignorable_Code_Point}/gu, "?");
}

/** Checks whether a name is `.git` for some file system: by case, invisible characters, 8.3 names or streams. */
export function isGitName(segment: string): boolean {
  return /^(?:\.git|git~\d+)$/.test(fold(segment));
}

/** Returns the name as lenient file systems compare it. */
function fold(segment: string): string {
  const plain = segment.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  const folded = plain.toUpperCase().toLowerCase().normalize("NFC");
  return withoutEnd(folded.split(":", 1)[0] ?? "", ". ");
}

/** Names that agents, editors and Git obey. */
const PROTECTED =
  /^(?:\.(?:gitattributes|gitmodules|claude|agents|sweny|gemini|opencode|codex|roo|roomodes|junie|kiro|mcp\.json|husky|vscode|devcontainer)|\.(?:skillflow|cursor|windsurf|cline|roorules|aider).*|codeowners|(?:agents|claude|gemini|skill)(?:\..*)?\.md|skill\.toml)$/;
/** Names that CI systems obey. Many run a branch's own definition with secrets as soon as it is pushed. */
const PROTECTED_CI =
  /^(?:\.(?:github|gitlab|gitea|forgejo|circleci|buildkite)|\.woodpecker.*|jenkinsfile(?:[._-].*)?|(?:\.(?:gitlab-ci|travis|drone|appveyor|cirrus)|azure-pipelines.*|(?:bitbucket|codefresh)-pipelines|appveyor|cloudbuild|buildspec)\.ya?ml)$/;

/** Rules of one call: globs, one entry each. */
export interface PathRules {
  /** `WORKSPACE_PATHS` of the operator. */
  readonly paths: readonly string[];
  /** `WORKSPACE_UNPROTECT` of the operator. */
  readonly unprotect: readonly string[];
  /** `workspace.paths` of the node. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  /** Files that nodes of `workspace.keep` changed. */
  readonly keep: readonly string[];
}

export const NO_RULES: PathRules = { paths: [], unprotect: [], allow: undefined, deny: [], keep: [] };

/** Explains why a call may not change a file. Undefined if it may. */
export function whyClosed(segments: readonly string[], rules: PathRules): string | undefined {
  const path = segments.join("/");
  const isIn = (globs: readonly string[]) => globs.some((glob) => matchesGlob(glob, path));
  // Another spelling of a closed name is the same file for a lenient file system.
  const folded = foldPath(path);
  const guard = protectedPart(segments);
  if (guard !== undefined && !isIn(rules.unprotect)) return `is protected (${guard}): the operator did not open it`;
  if (rules.paths.length > 0 && !isIn(rules.paths)) return "is not in WORKSPACE_PATHS";
  if (rules.allow && !isIn(rules.allow)) return "is not in the paths that this node may change";
  if (rules.keep.some((kept) => foldPath(kept) === folded)) {
    return "was changed by a node whose files this node must keep";
  }
  return rules.deny.some((glob) => matchesGlob(foldPath(glob), folded)) ? "is closed to this node" : undefined;
}

function foldPath(path: string): string {
  return path.split("/").map(fold).join("/");
}

function protectedPart(segments: readonly string[]): string | undefined {
  const named = segments.find((segment) => [PROTECTED, PROTECTED_CI].some((names) => names.test(fold(segment))));
  if (named !== undefined) return named;
  // Below the top, a folder of skills has folders.
  const isSkill = (segment: string, at: number) =>
    fold(segment) === "skills" && segments.length > at + (at === 0 ? 1 : 2);
  return segments.some(isSkill) ? "skills" : undefined;
}

/** Returns the paths that match one of the globs. Throws if that takes too long, because a model names the globs. */
export function matching(paths: readonly string[], globs: readonly string[]): readonly string[] {
  const found = withinSecond(() => paths.filter((path) => globs.some((glob) => matchesGlob(glob, path))));
  if (found === undefined) throw inputError(`the ${PATTERN_TOO_SLOW}: make it simpler`);
  return found;
}
