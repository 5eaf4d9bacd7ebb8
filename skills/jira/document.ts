import * as z from "zod";

/** Conversion between Atlassian Document Format and plain text. */

export const written = z.unknown().optional();

interface Node {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly attrs?: Readonly<Record<string, unknown>>;
  readonly marks?: readonly { readonly type?: unknown; readonly attrs?: Readonly<Record<string, unknown>> }[];
  readonly content?: readonly Node[];
}

export function textOf(document: unknown): string {
  if (typeof document === "string") return document.replaceAll("\r\n", "\n");
  if (typeof document !== "object" || document === null) return "";
  return blockOf(document as Node, 0)
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

const DEEPEST = 30;

function blockOf(node: Node, depth: number): string {
  if (depth > DEEPEST) return "";
  const inner = () => (Array.isArray(node.content) ? node.content : []).map((child) => blockOf(child, depth + 1));
  switch (node.type) {
    case "text":
      return wordsOf(node);
    case "hardBreak":
      return "\n";
    case "heading":
      return `${"#".repeat(Number(node.attrs?.["level"]) || 1)} ${inner().join("")}\n\n`;
    case "paragraph":
    case "blockquote":
    case "panel":
      return `${inner().join("")}\n\n`;
    case "codeBlock":
      return `\`\`\`\n${inner().join("")}\n\`\`\`\n\n`;
    case "listItem":
    case "taskItem":
    case "decisionItem":
      return `- ${inner().join("").trim().replaceAll("\n", "\n  ")}\n`;
    case "tableRow":
      return `| ${inner()
        .map((cell) => cell.trim().replaceAll("\n", " "))
        .join(" | ")} |\n`;
    case "rule":
      return "---\n\n";
    default:
      return labelOf(node) ?? `${inner().join("")}${/List$|^table$/.test(String(node.type)) ? "\n" : ""}`;
  }
}

/** Returns the text of an inline node, such as a mention, a link or an image. */
function labelOf({ type, attrs = {} }: Node): string | undefined {
  const label = attrs["text"] ?? attrs["url"] ?? attrs["shortName"] ?? attrs["timestamp"];
  if (typeof label === "string") return label;
  return type === "media" ? "[attachment]" : undefined;
}

function wordsOf({ text, marks }: Node): string {
  const words = typeof text === "string" ? text : "";
  const href = marks?.find((mark) => mark.type === "link")?.attrs?.["href"];
  return typeof href === "string" && href !== words ? `${words} (${href})` : words;
}

/** Converts plain text to a document with paragraphs, code blocks between ``` and links. */
export function documentOf(text: string) {
  const parts = text.replaceAll("\r\n", "\n").split(/^```.*$/m);
  const content = parts.flatMap((part, index) => {
    const isCode = index % 2 === 1 && index < parts.length - 1;
    if (isCode)
      return part.trim() === "" ? [] : [{ type: "codeBlock", content: [wordOf(part.replace(/^\n|\n$/g, ""))] }];
    return part
      .split(/\n{2,}/)
      .map((paragraph) => paragraph.trim())
      .filter((paragraph) => paragraph !== "")
      .map((paragraph) => ({ type: "paragraph", content: linesOf(paragraph) }));
  });
  return { type: "doc", version: 1, content };
}

function linesOf(paragraph: string) {
  return paragraph.split("\n").flatMap((line, index) => [
    ...(index > 0 ? [{ type: "hardBreak" }] : []),
    ...line
      .split(/(https?:\/\/[^\s<>"]+[^\s<>".,;:!?)\]])/)
      .filter((part) => part !== "")
      .map((part) => (/^https?:\/\//.test(part) ? linkOf(part) : wordOf(part))),
  ]);
}

function wordOf(text: string) {
  return { type: "text", text };
}

function linkOf(href: string) {
  return { ...wordOf(href), marks: [{ type: "link", attrs: { href } }] };
}

/** Converts text to Data Center's markup: converts code blocks and disables mentions. */
export function markupOf(text: string): string {
  const fenced = text.replace(/^```.*\n([\s\S]*?)(?:^(```)$|(?![\s\S]))/gm, (whole, code, end) =>
    end ? `{code}\n${code}{code}` : whole,
  );
  return fenced.replaceAll("[~", "[\\~");
}
