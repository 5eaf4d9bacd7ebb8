// No user name, no quotes and no delimiter of Slack's: the address shown is the one that opens.
const ADDRESS = /(https?:\/\/[A-Za-z0-9.-]+(?::\d+)?(?:[/?#][^\s<>|"'`\\]*)?)/;

/**
 * A model's text as Slack's mrkdwn. What is written stays text: it cannot become a mention (`<!channel>`, `<@U1>`) or
 * a link with another address behind it. Bare addresses become links to themselves.
 */
export function markup(text: string): string {
  return text
    .split(ADDRESS)
    .map((part, index) => (index % 2 === 1 ? link(part) : escaped(part)))
    .join("");
}

/** The three characters that Slack gives a meaning. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function link(address: string): string {
  const punctuation = /(?<![.,;:!?)\]}*_~])[.,;:!?)\]}*_~]+$/.exec(address)?.[0] ?? "";
  const target = address.slice(0, address.length - punctuation.length);
  return `<${escaped(target)}>${punctuation}`;
}
