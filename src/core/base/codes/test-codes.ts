import type { DiagnosticCode } from "../diagnostic.ts";
import type { Explanation } from "./explanation.ts";

/** Findings about tests of workflows. */
export const TEST_CODES = {
  TEST_FAILED: {
    what: "A case of a workflow's test did not come to what it expects.",
    why: "The workflow, a skill or a prompt has changed, or the expectation was never right.",
    mend: "Compare what was expected with what came. Where what came is right, `skillflow test -u` accepts it.",
  },
  TEST_MATCHER: {
    what: "An expectation of a test has a matcher that does not exist, or that takes another kind of value.",
    why: "A typing error, a pattern that cannot be read, or a text where a number belongs.",
    mend: "Use `equals`, `in`, `matches`, `not`, `at_least`, `at_most`, `length` or `exists`.",
  },
  TEST_NAME_UNKNOWN: {
    what: "A test names a node that its workflow does not have, or a tool that none of the workflow's skills has.",
    why: "The node or the tool was renamed, or the tool is named without its skill.",
    mend: "Name nodes by their ids, and tools as the model sees them: `sentry_get_issue`. `skillflow skills show ID` tells the tools of a skill.",
  },
} as const satisfies Partial<Record<DiagnosticCode, Explanation>>;
