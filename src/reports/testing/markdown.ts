import type { Finding } from "../../core/base/diagnostic.ts";
import { markdownOf } from "../markdown-writer.ts";
import { type Block, code, list, section, words } from "../model/tree/tree.ts";
import type { Measured, TestedCase } from "./junit.ts";
export function testsMarkdown(tested: readonly TestedCase[], { coverage = [], mutation = [] }: Measured): string {
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
  const table: Block = { kind: "table", columns: ["Workflow", ...Object.keys(coverage[0]?.parts ?? {})], rows };
  const blocks = section(words`${tested.length - failed.length} of ${tested.length} workflow tests pass`, [
    ...list(failures),
    ...(rows.length === 0
      ? []
      : [section(words`Coverage`, [table, ...findingList(coverage.flatMap((one) => one.missed))])]),
    ...mutation.map(({ workflow, mutants, survived }) =>
      section(
        words`${mutants - survived.length} of ${mutants} mutants of ${workflow} are noticed`,
        findingList(survived),
      ),
    ),
  ]);
  return `${markdownOf([blocks], 2)}\n`;
}

function findingList(findings: readonly Finding[]): Block[] {
  return list(findings.map(({ file, line, message }) => ({ words: words`${code(`${file}:${line}`)} ${message}` })));
}
