import { expect } from "vitest";

/** Nothing in it loads, runs or leads elsewhere. */
export function expectInert(page: string): void {
  const body = page.replace(/<style>[\s\S]*?<\/style>/, "");
  const known =
    /^(?:!doctype|html|head|meta|title|style|body|header|nav|main|section|footer|article|figure|h[1-5]|p|a|text|span|div|strong|code|pre|dl|dt|dd|ul|ol|li|table|thead|tbody|tr|th|td|details|summary|mark|del|q|i|meter|figcaption|time|svg|path|polyline|circle)$/;
  for (const [, name = "", attributes = ""] of body.matchAll(/<\/?([^\s>]+)([^>]*)>/g)) {
    expect(name).toMatch(known);
    if (name !== "meta")
      expect(attributes.replace(/"[^"]*"/g, '""')).not.toMatch(/\s(?:src|srcset|style|on\w+|action|data)=/i);
    for (const [, target = ""] of attributes.matchAll(/href="([^"]*)"/g)) expect(target).toMatch(/^#[a-z0-9-]+$/);
  }
}

const VOID = new Set(["meta", "!doctype", "path", "polyline"]);

/** Its elements open and close in pairs. */
export function expectBalanced(page: string): void {
  const open: string[] = [];
  for (const [, slash, name = ""] of page.matchAll(/<(\/?)([^\s>]+)[^>]*>/g)) {
    if (VOID.has(name)) continue;
    if (slash === "") open.push(name);
    else expect(open.pop()).toBe(name);
  }
  expect(open).toEqual([]);
}
