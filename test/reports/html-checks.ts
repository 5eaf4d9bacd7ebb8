import { expect } from "vitest";

/** Checks that the page loads nothing, runs nothing and links nowhere else. */
export function expectInert(page: string): void {
  const body = page.replace(/<style>[\s\S]*?<\/style>/, "");
  const known =
    /^(?:!doctype|html|head|meta|title|style|body|header|nav|main|section|footer|article|figure|h[1-5]|p|a|text|span|div|strong|code|pre|dl|dt|dd|ul|ol|li|table|thead|tbody|tr|th|td|details|summary|mark|del|q|i|meter|figcaption|time|svg|path|polyline|circle)$/;
  const faults: string[] = [];
  for (const [tag, name = "", attributes = ""] of body.matchAll(/<\/?([^\s>]+)([^>]*)>/g)) {
    const names = attributes.replace(/"[^"]*"/g, '""');
    const runs = name !== "meta" && /\s(?:src|srcset|style|on\w+|action|data)=/i.test(names);
    const targets = [...attributes.matchAll(/href="([^"]*)"/g)].map(([, target = ""]) => target);
    const leads = targets.some((target) => !/^#[a-z0-9-]+$/.test(target));
    if (!known.test(name) || runs || leads) faults.push(tag);
  }
  expect(faults).toEqual([]);
}

const VOID = new Set(["meta", "!doctype", "path", "polyline"]);

/** Checks that elements open and close in pairs. */
export function expectBalanced(page: string): void {
  const open: string[] = [];
  const faults: string[] = [];
  for (const [tag, slash, name = ""] of page.matchAll(/<(\/?)([^\s>]+)[^>]*>/g)) {
    if (VOID.has(name)) continue;
    if (slash === "") open.push(name);
    else if (open.at(-1) === name) open.pop();
    else faults.push(`${tag} after ${open.slice(-3).join(" ")}`);
  }
  expect({ open, faults }).toEqual({ open: [], faults: [] });
}
