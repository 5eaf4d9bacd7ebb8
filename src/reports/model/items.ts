import { plural, previewJson } from "../../core/base/preview.ts";
import type { InnerRun, VisitStatus } from "./visit.ts";

const WORDS = { success: "succeeded", failed: "failed", skipped: "skipped", stopped: "stopped" } as const;

export function itemWord({ status, visits }: InnerRun): string {
  if (status !== undefined) return WORDS[status];
  const last = visits.at(-1);
  if (!last) return "not started";
  return last.asked && !last.word ? "waiting" : "running";
}

/** Returns the visit status whose style the item uses. */
export function itemLook({ status }: InnerRun): VisitStatus {
  return status === undefined || status === "stopped" ? "active" : status;
}

/** Describes all items, such as `40 items: 37 succeeded, 2 failed, 1 skipped; 12 left for the next run`. */
export function itemCounts(inner: readonly InnerRun[], left: number): string {
  const counts = new Map<string, number>();
  for (const run of inner) counts.set(itemWord(run), (counts.get(itemWord(run)) ?? 0) + 1);
  const told = [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
  const later = left > 0 ? `; ${left} left for the next run` : "";
  return `${plural(inner.length, "item")}${told === "" ? "" : `: ${told}`}${later}`;
}

/** Orders items for a report that does not show all of them. */
export function failedFirst<Run extends { readonly status?: string }>(inner: readonly Run[]): Run[] {
  return [...inner.filter(({ status }) => status === "failed"), ...inner.filter(({ status }) => status !== "failed")];
}

/** Returns why an item failed or was skipped, its verdict, or the result of its last node. */
export function gistOfItem({ complaint, verdict, visits }: InnerRun): string {
  const data = visits.at(-1)?.result?.data;
  if (complaint !== "" || verdict !== undefined || data === undefined) return complaint || (verdict ?? "");
  const texts = Object.values(data).filter((value) => typeof value !== "object");
  return texts.length > 0 ? texts.join(", ") : previewJson(data, 240).replace(/\s+/g, " ");
}
