import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  commandData,
  commandProperty,
  dotLabel,
  htmlText,
  logText,
  markdownCode,
  markdownLine,
  markdownText,
  mermaidLabel,
  plainText,
  revealText,
  sarifText,
  slackText,
  xmlText,
} from "../../../src/core/base/inert.ts";
import { runsOf } from "../../harness/long.ts";
import { hostileText } from "../../reports/hostile-text.ts";

function always(check: (text: string) => void): void {
  const property = fc.property(hostileText, (text) => {
    check(text);
  });
  fc.assert(property, { numRuns: runsOf(2000) });
}

describe("plain text", () => {
  it("loses colours, links, titles and cursor moves, and keeps what they decorate", () => {
    expect(
      plainText("\u001b[1;31mred\u001b[0m \u001b]8;;http://e.example\u0007link\u001b]8;;\u001b\\ \u009b2Jend"),
    ).toBe("red link end");
  });

  it("keeps the text after an unterminated sequence", () => {
    expect(plainText("\u001b]0;title without an end, then the news")).toContain("then the news");
  });

  it("keeps letters of every script, line breaks and joined emoji", () => {
    expect(plainText("Zoë\r\n文字\t👩‍🚒")).toBe("Zoë\n文字\t👩‍🚒");
  });

  it("reveals characters without width, except in emoji and in scripts that need them", () => {
    expect(revealText("1\ufe0f\u20e3 #\ufe0f\u20e3 می\u200cخواهم 👩\u200d🚒")).toBe(
      "1\ufe0f\u20e3 #\ufe0f\u20e3 می\u200cخواهم 👩\u200d🚒",
    );
    expect(revealText("a\u200cb x\ufe0f")).toBe("a⟨U+200C⟩b x⟨U+FE0F⟩");
  });

  it("never holds a control character, an override or half a character", () => {
    always((text) => expect(plainText(text)).not.toMatch(/[^\P{Cc}\n\t]|[\u200b\u202a-\u202e\u2066-\u2069]|\p{Cs}/u));
  });
});

describe("HTML text", () => {
  it("never holds a character that could end its context", () => {
    always((text) => expect(htmlText(text)).not.toMatch(/[<>"'`]|&(?!#\d+;)/));
  });
});

describe("XML text", () => {
  it("never holds markup or a character that XML 1.0 forbids", () => {
    always((text) => expect(xmlText(text)).not.toMatch(/[<>"'\ufffe\uffff]|&(?!#\d+;)|\p{Cc}|\p{Cs}/u));
  });
});

describe("Markdown text", () => {
  it.each([
    ["see https://e.example/?a=1&b=2.", "see `https://e.example/?a=1&b=2`."],
    ["ask @octocat (or #12)", "ask `@octocat` (or `#12`)"],
    ["<b>bold</b> & *more*", "&#60;b&#62;bold&#60;/b&#62; &#38; \\*more\\*"],
    ["1. first", "1\\. first"],
    ["- item", "\\- item"],
    ["0.92 of them", "0.92 of them"],
    ["a | b", "a &#124; b"],
    ["it costs $5", "it costs `$5`"],
    ["src/pool.ts changed in 9eb6d5a6d52d", "`src/pool.ts` changed in `9eb6d5a6d52d`"],
    ["one of [linear, github]", "one of \\[linear, github\\]"],
    ["return { number", "return \\{ number"],
    ["[a](b)", "`[a](b)`"],
    ["skips pool.release(connection), then", "skips `pool.release(connection)`, then"],
    ["it ends (see src/pool.ts).", "it ends (see `src/pool.ts`)."],
  ])("writes %j as %j", (text, expected) => {
    expect(markdownLine(text)).toBe(expected);
  });

  it("puts a text with backticks and pipes into code without letting it end the code", () => {
    expect(markdownCode("a`b|c")).toBe("`a`&#96;`b`&#124;`c`");
  });

  it("never becomes a link, an image, a mention, a reference, a formula, HTML, a table or a command", () => {
    always((text) => {
      for (const written of [markdownLine(text), markdownText(text), markdownCode(text)]) {
        expect(written).not.toMatch(/[\n|]|##\[/);
        expect(written).not.toMatch(/^\s*(?:::|[-+=#>]|\d+[.)](?:\s|$))/);
        expectQuiet(proseOf(written));
      }
    });
  });
});

describe("Slack's text", () => {
  it("never becomes a link, a mention or a style", () => {
    const text = slackText("see https://e.example/?q=1 <https://e.example|here> <!channel> @here *now*");
    expect(text).not.toMatch(/:\/\/|<|@here|\*now\*/);
    expect(text.replaceAll("\u200b", "")).toContain("https://e.example/?q=1");
  });
});

describe("workflow commands", () => {
  it("escape what would end a value", () => {
    expect(commandData("50 %\nnext: a, b")).toBe("50 %25%0Anext: a, b");
    expect(commandProperty("C:\\a,b\n%")).toBe("C%3A\\a%2Cb%0A%25");
  });

  it("never reach a second line or a second property", () => {
    always((text) => {
      expect(commandData(text)).not.toMatch(/[\r\n]|%(?!25|0A)/);
      expect(commandProperty(text)).not.toMatch(/[\r\n:,]|%(?!25|0A|3A|2C)/);
    });
  });

  it("never start in a log", () => {
    always((text) => {
      for (const line of logText(text).split("\n")) expect(line.trimStart()).not.toMatch(/^::|##\[/);
    });
  });
});

describe("labels and messages", () => {
  it("never end their quotes", () => {
    always((text) => {
      expect(mermaidLabel(text)).toMatch(/^(?:[\p{L}\p{N}\p{M} .,×·…-]|#\d+;)+$/u);
      expect(dotLabel(text).replace(/\\[\\"]/g, "")).not.toMatch(/["\\\n]|&(?!amp;)/);
      expect(sarifText(text)).not.toContain("](");
    });
  });
});

/**
 * Converts to the text that a renderer sees outside of code: spans, entities and escaped marks become one neutral mark.
 */
function proseOf(markdown: string): string {
  return markdown
    .replace(/`[^`]+`/g, "\u25a1")
    .replace(/&#\d+;/g, "\u25a1")
    .replace(/<br>/g, " ")
    .replace(/\\[!-/:-@[-`{-~]/g, "\u25a1");
}

function expectQuiet(prose: string): void {
  expect(prose).not.toMatch(/[`<>[\]@#$&~^_{}*\\]/);
  expect(prose).not.toMatch(/:\/\/|www\.|(?:mailto|xmpp|javascript):|gh-\d/i);
}
