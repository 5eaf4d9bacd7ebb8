import { EXAMPLE_LOG, editorLine, LOG_TOOL, pathsOf, type StarterFile, scriptHead, testHead } from "./starter.ts";

/** The shipped workflow under a name of the project's own, with a script and a test that need nothing. */
export function triageFiles(name: string, shipped: string): StarterFile[] {
  const { workflow, script, test, example } = pathsOf(name);
  return [
    [workflow, editorLine("workflow", "../") + renamed(shipped, name, workflow)],
    [script, editorLine("script", "../") + scriptText(name)],
    [test, editorLine("test", "../") + testText(name)],
    [example, EXAMPLE_LOG],
  ];
}

function renamed(shipped: string, name: string, workflow: string): string {
  return shipped.replace(/^id: .*$/m, `id: ${name}`).replaceAll("workflows/incident-triage.yml", workflow);
}

const CLAIMS =
  '[{ claim: The relay refuses connections., evidence: [{ ref: r1, quote: "connect to relay.example:587: refused" }] }]';

function scriptText(name: string): string {
  return `${scriptHead(name)}\
  - node: gather
    data:
      findings: [{ finding: "Receipts wait: the relay refuses connections.", refs: [r1] }]
      timeline: [{ at: "2026-11-20T09:12:04Z", what: the first refused connection }]
      evidence_until: "2026-11-20T09:12:09Z"
      gaps: []
  - node: diagnose
    data:
      cause: The mail relay refuses connections.
      cause_kind: dependency
      commit: null
      commit_reason: no change of ours went out that day
      author: null
      file: null
      line: null
      cause_key: dependency/mailer/2026-11-20
      confidence: high
      claims: ${CLAIMS}
      ruled_out: []
      missing_evidence: []
  - node: assess
    data:
      verdict: incident
      headline: "mailer: receipts wait since 09:12 UTC, because the relay refuses connections"
      severity: SEV2
      impact: mailer sends receipts; none leaves, and none is lost
      ongoing: "yes"
      as_of: "2026-11-20T09:12:09Z"
      claims: ${CLAIMS}
      novelty: unknown
      known_issue: null
      action: stand_down
      first_step: whoever runs the relay restarts it
  - node: stand_down
    text: The people who run the relay know already. A second hour without receipts would change that.
`;
}

function testText(name: string): string {
  return `${testHead(name)}${LOG_TOOL}\
cases:
  - name: an incident that others see to stands down
    input: { service: mailer, title: Receipts wait }
    expect:
      verdict: incident
      path: [gather, diagnose, assess, stand_down]
      data: { diagnose.cause_kind: dependency }
      called: [logs_search]
      planned: []
      evidence: { dropped: 0 }
`;
}
