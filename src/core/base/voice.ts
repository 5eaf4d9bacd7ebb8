/** Prefix of lines that skillflow adds to the output of a skill's program. */
export const VOICE = "skillflow: ";

/** Quotes the lines of a skill's text that could pass for lines by skillflow. */
export function quoteTheirs(text: string): string {
  return text
    .split("\n")
    .map((line) => (isLikeOurs(line) ? `> ${line}` : line))
    .join("\n");
}

/** Detects our prefix as a person would read it, in whatever letters and styles it is written. */
function isLikeOurs(line: string): boolean {
  const read = line
    .slice(0, 200)
    .replace(/\p{Cc}\[[^@-~]*[@-~]/gu, "")
    .normalize("NFKC");
  return /^skillflow:/i.test(read.replace(/[^\p{L}:]/gu, ""));
}
