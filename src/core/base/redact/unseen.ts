/** Terminal control sequences: colors, cursor movement, titles, links. */
export const TERMINAL_SEQUENCE = [
  String.raw`(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]`,
  String.raw`\u001b[\]PX^_][^\u001b\u0007\n]{0,4096}(?:\u0007|\u001b\\)`,
  String.raw`\u001b[ -/]{0,8}[0-~]`,
].join("|");

/** Control characters except tabs and line ends, and the soft hyphen. */
const CONTROLS = String.raw`[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad]`;
/** Zero-width characters, direction marks, variation selectors, fillers, tags. */
const WIDTHLESS = String.raw`[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]`;

const CONTROL = new RegExp(CONTROLS);
const WIDTHLESS_ONE = new RegExp(WIDTHLESS);
export const UNSEEN_RUN = new RegExp(`${TERMINAL_SEQUENCE}|(?:${CONTROLS}|${WIDTHLESS})+`, "g");

/** Detects invisible characters. Two tests are faster, because the second is free for one-byte strings. */
export function hasUnseen(text: string): boolean {
  return CONTROL.test(text) || WIDTHLESS_ONE.test(text);
}
