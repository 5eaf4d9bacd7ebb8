import { markdownOf } from "../markdown-writer.ts";
import { type Block, code, list, section, words } from "../model/tree/tree.ts";
import type { Coverage, TestedCase } from "./junit.ts";

export function testsMarkdown(tested: readonly TestedCase[], coverage: readonly Coverage[] = []): string {
  const failed = tested.filter(({ passed }) => !passed);
  const failures = failed.flatMap(({ file, name, runs }) => {
    const [first] = runs.flatMap((run) => run.failures);
    return { words: words`${code(file)} ${name}: ${first ? `${first.path}: ${first.message}` : "failed"}` };
  });
  const rows = coverage.map(({ workflow, parts }) => {
    return [
      words`${code(workflow)}`,
      ...Object.values(parts).map(({ reached, total }) => words`${reached} of ${total}`),
    ];
  });
  const missed = coverage.flatMap((one) =>
    one.missed.map(({ file, line, message }) => ({ words: words`${code(`${file}:${line}`)} ${message}` })),
  );
  const table: Block = { kind: "table", columns: ["Workflow", ...Object.keys(coverage[0]?.parts ?? {})], rows };
  const blocks = section(words`${tested.length - failed.length} of ${tested.length} workflow tests pass`, [
    ...list(failures),
    ...(rows.length === 0 ? [] : [section(words`Coverage`, [table, ...list(missed)])]),
  ]);
  return `${markdownOf([blocks], 2)}\n`;
}
