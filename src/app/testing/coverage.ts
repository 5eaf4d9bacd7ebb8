import { groupBy } from "../../core/base/values.ts";
import { type PARTS, partsOf } from "../../core/outward/testing/coverage.ts";
import type { TestedCase } from "./run-tests.ts";

export type Coverage = ReturnType<typeof coverageOf>[number];

export function coverageOf(tested: readonly TestedCase[]) {
  return [...groupBy(tested, ({ ready }) => ready.document)].map(([workflow, cases]) => {
    const reached = new Set(cases.flatMap(({ runs }) => runs.flatMap((run) => [...run.reached])));
    const documents = cases[0]?.ready.documents ?? [];
    const all = documents.map((document) => ({ document, parts: partsOf(document, reached) }));
    const count = (kind: (typeof PARTS)[number]) => {
      const own = all.flatMap(({ parts }) => parts.filter((part) => part.kind === kind));
      return { reached: own.filter(({ isReached }) => isReached).length, total: own.length };
    };
    const missed = all.flatMap(({ document, parts }) =>
      document.place(
        parts
          .filter(({ isReached }) => !isReached)
          .map(({ path, name }) => ({
            severity: "warning",
            code: "NOT_COVERED",
            path,
            message: `no case reaches ${name}`,
          })),
      ),
    );
    return { workflow, parts: { nodes: count("nodes"), edges: count("edges"), steps: count("steps") }, missed };
  });
}
