/** How a line begins that skillflow adds to what a program of a skill printed. */
export const VOICE = "skillflow: ";

/** Text of a skill in which no line passes for one of ours: such a line is quoted. */
export function quoteTheirs(text: string): string {
  return text
    .split("\n")
    .map((line) => (isLikeOurs(line) ? `> ${line}` : line))
    .join("\n");
}

/** As a person would read its beginning, in whatever letters and styles it is written. */
function isLikeOurs(line: string): boolean {
  const read = line
    .slice(0, 200)
    .replace(/\p{Cc}\[[^@-~]*[@-~]/gu, "")
    .normalize("NFKC");
  return /^skillflow:/i.test(read.replace(/[^\p{L}:]/gu, ""));
}
