import type { Redactor } from "../../base/redact/redact.ts";
import type { Change, Patch } from "../event/patch.ts";

/** Limits of a proposed change. Its title and its body are made harmless. */

const MOST_FILES = 50;
const MOST_DIFF = 400 * 1024;

/** The change, and the texts of its request. */
type Proposal = Pick<Change, "diff" | "files"> & Partial<Pick<Patch, "title" | "body" | "labels">>;

/** Returns why a change cannot be proposed or applied. Names files and lines, never a secret's value. */
export function changeProblem({ diff, files, ...texts }: Proposal, redactor: Redactor): string | undefined {
  if (files.length === 0) return "the working copy has no changes to propose";
  if (files.length > MOST_FILES) return `the change has ${files.length} files; the limit is ${MOST_FILES}`;
  const size = new TextEncoder().encode(diff).length;
  if (size > MOST_DIFF) return `the diff has ${size} bytes; the limit is ${MOST_DIFF}`;
  if (texts.title !== undefined && isBlank(texts.title)) return "the title is blank";
  if (/^(?:GIT binary patch$|Binary files )/m.test(diff))
    return "the change has a binary file, which cannot be reviewed";
  const place = secretPlace(diff, redactor);
  if (place !== undefined) return place;
  const isSecret = (text: string) => TOKEN.test(text) || redactor.text(text) !== text;
  const { title = "", body = "", labels = [] } = texts;
  if ([title, body, ...labels].some(isSecret)) return "the title, the body or a label contains a secret: remove it";
  if (labels.some((label) => label.includes(","))) return "a label contains a comma, which GitLab reads as two labels";
  const isHidden = redactor.text(diff) !== diff || files.some(({ path }) => isSecret(path));
  return isHidden
    ? "the change contains a secret of this run that spans lines, or a secret in a file's name"
    : undefined;
}

/** Checks whether a text shows nothing. */
export function isBlank(text: string): boolean {
  return /^[\s\p{Cc}\p{Z}\p{Default_Ignorable_Code_Point}]*$/u.test(text);
}

/** Tokens by the prefixes of well-known vendors, and private keys. Linear, for outside text. */
export const TOKEN =
  /(?<![A-Za-z0-9])(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[A-Z0-9]{16}|xox[a-z]-[A-Za-z0-9-]{10,}|sk-ant-[\w-]{16,}|sk-[A-Za-z0-9][\w-]{19,}|AIza[\w-]{30,})|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----/;

/**
 * Explains where the first secret of a diff is, such as `src/a.ts:12`. Deleted lines may have tokens by form, but not the
 * run's secrets, which its record cannot show.
 */
function secretPlace(diff: string, redactor: Redactor): string | undefined {
  let path = "the change";
  let [oldLine, line] = [0, 0];
  const isSecret = (text: string) => redactor.text(text) !== text;
  let left = { old: 0, new: 0 };
  for (const text of diff.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(text);
    if (left.old <= 0 && left.new <= 0) {
      if (text.startsWith("--- ") && text !== "--- /dev/null") path = text.slice(4).replace(/^"?a\/|"$/g, "");
      if (text.startsWith("+++ ") && text !== "+++ /dev/null") path = text.slice(4).replace(/^"?b\/|"$/g, "");
      if (hunk) {
        [oldLine, line] = [Number(hunk[1]), Number(hunk[3])];
        // The rest of a hunk's first line repeats a line of the file.
        const heading = text.slice(hunk[0].length);
        if (TOKEN.test(heading) || isSecret(heading)) return secretAt(`${path}:${line}`);
        left = { old: Number(hunk[2] ?? 1), new: Number(hunk[4] ?? 1) };
      }
      continue;
    }
    if (text.startsWith("\\")) continue;
    const content = text.slice(1);
    if (text.startsWith("-")) {
      if (isSecret(content))
        return `${path}:${oldLine} contains a secret of this run, and the change deletes that line`;
      left.old -= 1;
      oldLine += 1;
      continue;
    }
    if (TOKEN.test(content) || isSecret(content)) return secretAt(`${path}:${line}`);
    line += 1;
    if (!text.startsWith("+")) oldLine += 1;
    left = { old: left.old - (text.startsWith("+") ? 0 : 1), new: left.new - 1 };
  }
  return undefined;
}

function secretAt(place: string): string {
  return `${place} contains a secret: remove it from the change`;
}

const MOST_TITLE = 120;

/** Returns one line of at most 120 characters that mentions and closes nothing. */
export function inertTitle(title: string): string {
  const line = title.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
  const inert = inertText(line);
  return [...inert].slice(0, MOST_TITLE).join("");
}

/** A word joiner. It is invisible, and keeps a service from reading the text around it as one word. */
const BREAK = "\u2060";
const CLOSING =
  /\b(?:clos(?:e|es|ed|ing)|fix(?:es|ed|ing)?|resolv(?:e|es|ed|ing)|implement(?:s|ed|ing)?)(?=:?[ \t]{1,5}(?:[\w./-]{0,140}[#!]\d|[a-z]{1,20}-\d|https?:|\$\{op-))/gi;

/** Words in a commit's message that keep CI systems from checking it: `[skip ci]`, `***NO_CI***`, `skip-checks: true`. */
const SKIPPING =
  /\[(?=(?:(?:skip|no)[ \t_-]{1,5}\w{2,20}|\w{2,20}[ \t_-]{1,5}skip)\])|\*{3}(?=NO_CI)|\bskip-(?=checks:)/gi;

/** Breaks mentions, closing words, words that skip CI, quick actions, HTML, entities, images and links of a text that a service renders. */
export function inertText(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}]/gu, (mark) => (mark === "\n" || mark === "\t" ? mark : ""))
    .replace(SKIPPING, `$&${BREAK}`)
    .replace(CLOSING, (word) => `${word.slice(0, 1)}${BREAK}${word.slice(1)}`)
    .replace(/@(?=[\p{L}\p{N}_])/gu, `@${BREAK}`)
    .replace(/\b(gh-)(?=\d)/gi, `$1${BREAK}`)
    .replace(/([#!])(?=\d)/g, `$1${BREAK}`)
    .replace(/^([ \t]*)\/(?=[A-Za-z])/gm, "$1\\/")
    .replace(/&(?=#?[A-Za-z0-9]{1,40};)/g, `&${BREAK}`)
    .replace(/<(?=[A-Za-z/!?])/g, `<${BREAK}`)
    .replace(/\](?=[([:])/g, "\\]")
    .replace(/:\/\//g, `:${BREAK}//`)
    .replace(/\bwww\./gi, (start) => `${start.slice(0, 3)}${BREAK}.`);
}

/** Makes the result of an operation inert in a text that refers to it. A link stays: a person approved that reference. */
export function inertResult(text: string): string {
  return /^https?:\/\/[\w./?&=#%~:+-]+$/.test(text) ? text : `${BREAK}${inertText(text)}${BREAK}`;
}
