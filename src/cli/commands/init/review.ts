import { editorLine, pathsOf, type StarterFile, testHead } from "./starter.ts";

/** The shipped review of a pull request under the project's own name, with a script, a test and a patch to try it on. */
export function reviewFiles(name: string, shipped: string): StarterFile[] {
  const { workflow, script, test, example } = pathsOf(name);
  const text = shipped.replace(/^id: .*$/m, `id: ${name}`).replaceAll("workflows/pr-review.yml", workflow);
  return [
    [workflow, editorLine("workflow", "../") + text],
    [script, editorLine("script", "../") + scriptText(name)],
    [test, editorLine("test", "../") + testText(name)],
    [example, PATCH],
  ];
}

const PATCH = `--- a/src/tax.js
+++ b/src/tax.js
@@ -1,4 +1,3 @@
 export function taxOf(order) {
-  if (!order.region) return 0;
   return order.total * RATES[order.region].rate;
 }
`;

const REMOVED = "-  if (!order.region) return 0;";

function scriptText(name: string): string {
  const { workflow, script, example } = pathsOf(name);
  return `# Replies of a model, so that the workflow can be run and tested without one:
#   skillflow run ${workflow} --model script:${script}
replies:
  - node: read
    calls: [{ tool: logs_search, input: { files: ${example}, contains: order } }]
  - node: read
    data:
      purpose: Computes the tax of orders without a check of their region.
      files: [{ path: src/tax.js, change: "The check for a missing region is removed.", refs: [r1] }]
      gaps: []
  - node: review
    data:
      verdict: request_changes
      headline: "src/tax.js: orders without a region crash"
      first_step: restore the check in taxOf
      findings:
        - claim: "src/tax.js: taxOf throws for an order without a region"
          severity: high
          evidence: [{ ref: r1, quote: "${REMOVED}" }]
`;
}

function testText(name: string): string {
  return `${testHead(name)}\
  logs_search:
    - output: { matched: 1, lines: ["${REMOVED}"] }
cases:
  - name: a change that removes a check is not approved
    input: { patch: ${pathsOf(name).example} }
    expect:
      verdict: request_changes
      path: [read, review]
      called: [logs_search]
      evidence: { dropped: 0 }
`;
}
