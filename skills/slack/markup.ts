// No user name, quotes or Slack delimiters, so that the visible URL is the one that opens.
const ADDRESS = /(https?:\/\/[A-Za-z0-9.-]+(?::\d+)?(?:[/?#][^\s<>|"'`\\]*)?)/;

/**
 * Converts a model's text to Slack's mrkdwn. It cannot contain mentions (`<!channel>`, `<@U1>`) or links that show a
 * different URL. Bare URLs become links to themselves.
 */
export function markup(text: string): string {
  return text
    .split(ADDRESS)
    .map((part, index) => (index % 2 === 1 ? link(part) : escaped(part)))
    .join("");
}

/** Escapes the three characters that have a meaning in mrkdwn. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function link(address: string): string {
  const punctuation = /(?<![.,;:!?)\]}*_~])[.,;:!?)\]}*_~]+$/.exec(address)?.[0] ?? "";
  const target = address.slice(0, address.length - punctuation.length);
  return `<${escaped(target)}>${punctuation}`;
}
