import type { DiagnosticCode } from "../diagnostic.ts";
import type { Explanation } from "./explanation.ts";
import { INPUT_CODES } from "./input-codes.ts";
import { SETUP_CODES } from "./setup-codes.ts";
import { SKILL_CODES } from "./skill-codes.ts";
import { TEST_CODES } from "./test-codes.ts";
import { TOOL_CODES } from "./tool-codes.ts";
import { WORKFLOW_CODES } from "./workflow-codes.ts";

/** Every code that a finding can have; one without an explanation does not compile. */
export const DIAGNOSTICS: Readonly<Record<DiagnosticCode, Explanation>> = {
  ...WORKFLOW_CODES,
  ...INPUT_CODES,
  ...SETUP_CODES,
  ...SKILL_CODES,
  ...TOOL_CODES,
  ...TEST_CODES,
};

/** The same by what they are about. */
export const DIAGNOSTIC_THEMES: readonly (readonly [title: string, codes: readonly string[]])[] = [
  ["Workflows", Object.keys(WORKFLOW_CODES)],
  ["Input and sources", Object.keys(INPUT_CODES)],
  ["Installation, config and trust", Object.keys(SETUP_CODES)],
  ["Skills", Object.keys(SKILL_CODES)],
  ["Tools and manifests", Object.keys(TOOL_CODES)],
  ["Tests of workflows", Object.keys(TEST_CODES)],
];
