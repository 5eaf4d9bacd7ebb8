/** What a terminal takes as an order and shows nothing of: colours, moves of the cursor, titles, links. */
export const TERMINAL_SEQUENCE = [
  String.raw`(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]`,
  String.raw`\u001b[\]PX^_][^\u001b\u0007\n]{0,4096}(?:\u0007|\u001b\\)`,
  String.raw`\u001b[ -/]{0,8}[0-~]`,
].join("|");

/** Control characters but tabs and the ends of lines, and the soft hyphen. */
const CONTROLS = String.raw`[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad]`;
/** Characters of no width, marks of direction, selectors of a variant, fillers, tags. */
const WIDTHLESS = String.raw`[\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]`;

const CONTROL = new RegExp(CONTROLS);
const WIDTHLESS_ONE = new RegExp(WIDTHLESS);
const UNSEEN = new RegExp(`${TERMINAL_SEQUENCE}|(?:${CONTROLS}|${WIDTHLESS})+`, "g");
const UNSEEN_HERE = new RegExp(UNSEEN.source, "y");

/** Two looks are quicker than one: the second takes no time where every character is of one byte. */
export function hasUnseen(text: string): boolean {
  return CONTROL.test(text) || WIDTHLESS_ONE.test(text);
}

export function withoutUnseen(text: string): string {
  return text.replace(UNSEEN, "");
}

/** Where the next stretch begins that readers see nothing of; -1 for nowhere. */
export function unseenFrom(text: string, from: number): number {
  UNSEEN.lastIndex = from;
  return UNSEEN.exec(text)?.index ?? -1;
}

/** How long the stretch is that begins at a place; zero for none. */
export function unseenLength(text: string, at: number): number {
  UNSEEN_HERE.lastIndex = at;
  return UNSEEN_HERE.exec(text)?.[0].length ?? 0;
}
