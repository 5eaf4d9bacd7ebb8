import { describe, expect, it } from "vitest";
import { describeBlocks } from "../../src/cli/terminal/sections.ts";
import { blocksHtml } from "../../src/reports/html/markup/tree.ts";
import { markdownOf } from "../../src/reports/markdown-writer.ts";
import {
  type Block,
  code,
  facts,
  list,
  type Span,
  section,
  span,
  text,
  words,
} from "../../src/reports/model/tree/tree.ts";
import { expectBalanced, expectInert } from "./html-checks.ts";
import { HOSTILE } from "./triage-run.ts";

const STYLES: readonly Span["style"][] = ["text", "verse", "code", "strong", "struck", "dim", "quote", "badge", "link"];

/** A block of each kind, with an untrusted text in every style and place. */
function blocksOf(untrusted: string): Block[] {
  const line = STYLES.flatMap((style) => [span("own", " "), span(style, untrusted)]);
  const item = { words: line, why: line, parts: [text(line), ...list([{ words: line }], { look: "cites" })] };
  return [
    text(line),
    ...facts([["Term", line]]),
    { kind: "table", columns: ["A", "B"], rows: [[line, words`${untrusted}`]] },
    ...list([item]),
    ...list([item], { look: "claims" }),
    ...list([item], { title: "Done", look: "done" }),
    section(line, [text(line)], { tone: "failed" }),
    section(line, [text(line)], { id: "op-1" }),
    section(line, [text(line)]),
  ];
}

describe.each(HOSTILE.map((untrusted) => [untrusted]))("a report's text %j", (untrusted) => {
  it("is inert in HTML", () => {
    const page = blocksHtml(blocksOf(untrusted)).markup;
    expectInert(page);
    expectBalanced(page);
  });

  it("keeps the lines of Markdown, and does not become a link, mention, markup or command", () => {
    const shape = (page: string) => page.split("\n").map((each) => /^[#|\s-]*/.exec(each)?.[0].trim());
    const page = markdownOf(blocksOf(`x${untrusted}`));
    expect(shape(page)).toEqual(shape(markdownOf(blocksOf("x"))));
    expect(page.replace(/`[^`\n]*`/g, "").replaceAll("<br>", "")).not.toMatch(/[<>]|@\w|:\/\/|\]\(|!\[/);
    expect(page).not.toMatch(/^\s*::|##\[/m);
  });

  it("moves no cursor and starts no line on a terminal", () => {
    const screen = { paint: (_: unknown, shown: string) => shown, program: "skillflow" };
    const page = describeBlocks(blocksOf(untrusted), screen).join("\n");
    expect(page).not.toMatch(/[^\P{Cc}\n]|[\u202e\ufffe\uffff]|\p{Cs}/u);
    const oneLine = describeBlocks(facts([["Term", words`${untrusted} ${code(untrusted)}`]]), screen).join("\n");
    expect(oneLine.split("\n")).toHaveLength(1);
  });
});

describe("a link", () => {
  it.each([
    ["https://board.example/a?b=1", true],
    ["javascript:alert(1)", false],
    ["https://user@evil.example", false],
  ])("to %s is active only if its address is safe", (address, isLink) => {
    const block = text([span("link", address)]);
    expect(blocksHtml([block]).markup.includes("<a href")).toBe(isLink);
    expect(markdownOf([block])).toBe(isLink ? `<${address}>` : `\`${address}\``);
  });
});

describe("a command", () => {
  it("has the program's name as the user calls it, and is never wrapped", () => {
    const block = text(words`yes: ${span("command", "signal r ask --approve")}`);
    const screen = { paint: (_: unknown, shown: string) => shown, program: "npx skillflow", width: 10 };
    expect(describeBlocks([block], screen)).toEqual(["  yes: npx skillflow signal r ask --approve"]);
    expect(markdownOf([block])).toBe("yes: `skillflow signal r ask --approve`");
    expect(blocksHtml([block]).markup).toContain("<code>skillflow signal r ask --approve</code>");
  });
});
