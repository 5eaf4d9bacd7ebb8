import { editorLine, pathsOf, type StarterFile, testHead } from "./starter.ts";

/** The shipped triage of a board under a name of the project's own, with the workflow of its issues, a script and a test. */
export function boardFiles(name: string, shipped: { readonly board: string; readonly issue: string }): StarterFile[] {
  const { workflow, script, test } = pathsOf(name);
  const issue = `${name}-issue`;
  return [
    [workflow, editorLine("workflow", "../") + renamed(shipped.board, { name, workflow, issue })],
    [pathsOf(issue).workflow, editorLine("workflow", "../") + issueText(shipped.issue, { name, issue })],
    [script, editorLine("script", "../") + scriptText(name)],
    [test, editorLine("test", "../") + testText(name)],
  ];
}

interface Names {
  readonly name: string;
  /** The id of the workflow of one issue. */
  readonly issue: string;
}

function renamed(text: string, { name, workflow, issue }: Names & { readonly workflow: string }): string {
  return text
    .replace(/^id: .*$/m, `id: ${name}`)
    .replace(" A demo without keys: npm run demo:board", "")
    .replaceAll("workflows/board-triage.yml", workflow)
    .replaceAll("./one-issue.yml", `./${issue}.yml`);
}

function issueText(text: string, { name, issue }: Names): string {
  return text.replace(/^id: .*$/m, `id: ${issue}`).replaceAll("board-triage.yml", `${name}.yml`);
}

function scriptText(name: string): string {
  const { workflow, script } = pathsOf(name);
  return `# What a model might say, so that the workflow can be tested without one: skillflow test
# A run reads the board for real, so it needs a tracker: skillflow run ${workflow} --model script:${script}
replies:
  - node: board
    calls: [{ tool: sentry_list_issues, input: { sort: date, stats_period: 14d, limit: 50 } }]
  - node: board
    data:
      source: sentry
      issues:
        - fingerprint: sentry/SHOP-1
          title: "TypeError: rate of undefined"
          level: error
          count_band: 10-99
          first_seen: "2026-11-20T09:00:00Z"
          last_seen: "2026-11-20T09:12:00Z"
          release: shop@1.4.0
          frame: src/tax.js taxOf
          link: https://acme.sentry.io/issues/1/
      left: 0
      gaps: []
  - node: sort
    item: sentry/SHOP-1
    data: { class: watch, why: "It is seen by few, and does not grow.", harm: null }
  - node: digest
    data: { verdict: changed, headline: 1 new issue to watch, lines: ["SHOP-1: seen by few"], first_step: null }
`;
}

function testText(name: string): string {
  return `${testHead(name)}\
  sentry_list_issues:
    - output: { issues: [{ id: "1", short_id: SHOP-1, events: 12 }] }
cases:
  - name: what is to be watched is told, and not filed
    expect:
      verdict: changed
      path: [board, each, digest, send]
      data: { "any:each.items[*].data.verdict": watch }
      called: [sentry_list_issues]
      planned: []
`;
}
