import { describe, expect, it } from "vitest";
import { markQuotes } from "../../src/reports/html/markup/marks.ts";
import { html } from "../../src/reports/html/markup/markup.ts";
import { proseHtml } from "../../src/reports/html/markup/prose.ts";
import { valueHtml } from "../../src/reports/html/markup/value.ts";

/** The cost of untrusted text in a page. Each of these once took minutes, or produced too much text. */

const plain = (text: string) => html`${text}`;

describe("quotes of claims", () => {
  const marked = (text: string, ...quotes: string[]) => markQuotes(text, new Set(quotes), plain).markup;

  it("are marked everywhere, with any white space, and as one if they overlap", () => {
    expect(marked("x  foo \n bar, foobar & foo bar", " foo bar ")).toBe(
      "x  <mark>foo \n bar</mark>, foobar &#38; <mark>foo bar</mark>",
    );
    expect(marked("one two three", "one two", "two three")).toBe("<mark>one two three</mark>");
    expect(marked("aaaa aaab", "aaab", "")).toBe("aaaa <mark>aaab</mark>");
    expect(marked("a.c abc", "a.c")).toBe("<mark>a.c</mark> abc");
    expect(marked("nothing of it", "elsewhere")).toBe("nothing of it");
  });

  it("that almost match everywhere are searched in no more time than others", () => {
    const quotes = Array.from({ length: 20 }, (_, index) => `${"a ".repeat(240)}b${index}`);
    expect(marked("a ".repeat(500_000), ...quotes)).not.toContain("<mark>");
    const known = new Set(quotes);
    const items = proseHtml("- a\n".repeat(50_000), (text) => markQuotes(text, known, plain));
    expect(items.markup).not.toContain("<mark>");
  });
});

describe("a text of a model", () => {
  it("is laid out in linear time, whatever marks end its lines", () => {
    const page = proseHtml(`- ${" ".repeat(400_000)}one\u2028two`, plain).markup;
    expect(page).toContain("two");
    expect(page.length).toBeLessThan(1000);
  });

  it("shows the name of a long column once, and only its start at the cells", () => {
    const name = "N".repeat(9000);
    const prose = proseHtml(`|${name}|\n|-|\n${"|x|\n".repeat(100)}`, plain).markup;
    const table = valueHtml([{ [name]: 1 }, ...Array(100).fill({})], { cites: () => false }).markup;
    for (const page of [prose, table]) expect(page.split(name)).toHaveLength(page === table ? 3 : 2);
    expect(prose.length + table.length).toBeLessThan(100_000);
  });
});
