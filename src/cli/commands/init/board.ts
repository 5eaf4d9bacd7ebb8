import { EXAMPLE_LOG, editorLine, LOG_TOOL, pathsOf, type StarterFile, testHead } from "./starter.ts";

/** The shipped triage of a board under a name of the project's own, with the workflow of its issues, a script and a test. */
export function boardFiles(name: string, shipped: { readonly board: string; readonly issue: string }): StarterFile[] {
  const { workflow, script, test, example } = pathsOf(name);
  const issue = `${name}-issue`;
  return [
    [workflow, editorLine("workflow", "../") + renamed(shipped.board, { name, workflow, issue })],
    [pathsOf(issue).workflow, editorLine("workflow", "../") + issueText(shipped.issue, { name, issue })],
    [script, editorLine("script", "../") + scriptText(name)],
    [test, editorLine("test", "../") + testText(name)],
    [example, EXAMPLE_LOG],
  ];
}

interface Names {
  readonly name: string;
  /** The id of the workflow of one issue. */
  readonly issue: string;
}

/** With log files next to the trackers, so that the workflow can be tried without one. */
function renamed(text: string, { name, workflow, issue }: Names & { readonly workflow: string }): string {
  return text
    .replace(/^id: .*$/m, `id: ${name}`)
    .replace(" A demo without keys: npm run demo:board", "")
    .replaceAll("workflows/board-triage.yml", workflow)
    .replaceAll("./one-issue.yml", `./${issue}.yml`)
    .replace(
      "else from Datadog, GitHub or Linear, whichever answers.",
      "$& Without any, group the errors of log files.",
    )
    .replaceAll("[sentry, datadog, github, linear]", "[sentry, datadog, github, linear, logs]")
    .replace(/^( +)- linear_search_issues$/m, "$&\n$1- logs_search");
}

function issueText(text: string, { name, issue }: Names): string {
  return text.replace(/^id: .*$/m, `id: ${issue}`).replaceAll("board-triage.yml", `${name}.yml`);
}

function scriptText(name: string): string {
  const { workflow, script, example } = pathsOf(name);
  return `# Replies of a model, so that the workflow can be run and tested without one and without a tracker:
#   skillflow run ${workflow} --model script:${script}
replies:
  - node: board
    calls: [{ tool: logs_search, input: { files: ${example}, contains: error } }]
  - node: board
    data:
      source: logs
      issues:
        - fingerprint: logs/relay-refused
          title: "connect to relay.example:587: refused"
          level: error
          count_band: 1-9
          first_seen: "2026-11-20T09:12:04Z"
          last_seen: "2026-11-20T09:12:05Z"
          release: null
          frame: null
          link: null
      left: 0
      gaps: []
  - node: sort
    item: logs/relay-refused
    data: { class: watch, why: "It is seen by few, and does not grow.", harm: null }
  - node: digest
    data: { verdict: changed, headline: 1 new issue to watch, lines: ["relay-refused: seen by few"], first_step: null }
  - node: send
    data: { delivered: false, message: "1 new issue to watch" }
`;
}

function testText(name: string): string {
  return `${testHead(name)}${LOG_TOOL}\
cases:
  - name: what is to be watched is told, and not filed
    expect:
      verdict: changed
      path: [board, each, digest, send]
      data: { "any:each.items[*].data.verdict": watch }
      called: [logs_search]
      planned: []
`;
}
