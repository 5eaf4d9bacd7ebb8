/** Every code that a finding about what an author wrote can have. */
const DIAGNOSTIC_CODES = [
  "AMBIGUOUS_EDGES",
  "ARGUMENT_FLAG",
  "ARGUMENT_PARAMETER",
  "BINDING_MISSING",
  "BINDING_TARGET",
  "CONFIG_RAISES_TRUST",
  "CONTRACT_DEFAULT",
  "CONTRACT_SHAPE",
  "DESCRIPTOR_INVALID",
  "DESCRIPTOR_LAUNCHER",
  "DESCRIPTOR_MISMATCH",
  "DESCRIPTOR_SCRIPTS",
  "DESCRIPTOR_UNSUPPORTED",
  "DUPLICATE_EVALUATOR",
  "EDGE_ALWAYS",
  "EDGE_NEVER",
  "EDGE_SHADOWED",
  "INNER_WORKFLOW",
  "INPUT_INVALID",
  "IO",
  "PARSE",
  "SCHEMA",

  "INPUT_MISSING",
  "INPUT_TYPE",
  "INPUT_UNKNOWN",
  "INSTALL_TEMPORARY",
  "INVALID_INLINE_SKILL",
  "INVALID_OUTPUT_SCHEMA",
  "JUDGE_BUDGET",
  "MANIFEST_FIELD",
  "MANIFEST_KEY_UNKNOWN",
  "MANIFEST_UNREADABLE",
  "MISSING_ENTRY",
  "MODULE_DEFINITION",
  "MODULE_EXPORT",
  "MODULE_ID",
  "MODULE_NOT_FOUND",
  "MODULE_UNREADABLE",
  "PACKAGE_RUNTIME",
  "PARAMETER_DESCRIPTION",
  "PARAMETER_ENUM",
  "PARAMETER_OPTIONAL",
  "PARAMETER_TYPE",
  "RESERVED_NODE_ID",
  "RESOLVE_COMMAND",
  "secret.in_document",
  "secret.not_searched",
  "SELF_LOOP",
  "SKILL_BODY_LONG",
  "SKILL_CATEGORY",
  "SKILL_COMPATIBILITY",
  "SKILL_CONFIG",
  "SKILL_CONFIG_FORM",
  "SKILL_DESCRIPTION",
  "SKILL_DOCUMENT",
  "SKILL_EMPTY",
  "SKILL_FILE_MISSING",
  "SKILL_FOLDER_NAME",
  "SKILL_FRONTMATTER",
  "SKILL_KEY_EXTENSION",
  "SKILL_KEY_TYPE",
  "SKILL_KEY_UNKNOWN",
  "SKILL_LINK_OUTSIDE",
  "SKILL_MANIFEST",
  "SKILL_MCP",
  "SKILL_MISSING",
  "SKILL_NAME",
  "SKILL_NAMED_UNKNOWN",
  "SKILL_NETWORK",
  "SKILL_NOT_IMPORTABLE",
  "SKILL_NOT_TRUSTED",
  "SKILL_SECRET",
  "SKILL_SHADOWED",
  "SKILL_SKIPPED",
  "SKILL_TOOLS_LEFT_OUT",
  "SKILL_TOOL_UNKNOWN",
  "SKILL_UNREADABLE",
  "SKILL_YAML_FANCY",
  "SKILL_YAML_REPAIRED",
  "SKILLS_FOLDER_NOT_FOUND",
  "SOURCE_FILE_NOT_FOUND",
  "SOURCE_FILE_OUTSIDE_ROOT",
  "SOURCE_FILE_READ_FAILED",
  "SOURCE_INVALID_SHAPE",
  "SOURCE_INVALID_TYPE",
  "SOURCE_OFFLINE_REQUIRES_FETCH",
  "SOURCE_URL_AUTH_REQUIRED",
  "SOURCE_URL_BLOCKED",
  "SOURCE_URL_HTTP_ERROR",
  "SOURCE_URL_TOO_LARGE",
  "SOURCE_URL_UNREACHABLE",
  "taint.free_text_route",
  "taint.private_to_public",
  "taint.state",
  "taint.write_held",
  "TEST_FAILED",
  "TEST_MATCHER",
  "TEST_NAME_UNKNOWN",
  "TOOL_DESCRIPTION",
  "TOOL_DOUBTFUL",
  "TOOL_HANDLER",
  "TOOL_NAME",
  "TOOL_NAME_SHARED",
  "TOOL_NAME_TWICE",
  "TOOL_PARAMETERS",
  "TOOL_RESERVED",
  "TOOL_SCHEMA",
  "TOOL_SCRIPT",
  "TOOL_SCRIPT_PLACE",
  "TOOL_SKIPPED",
  "TOOL_VARIABLE",
  "TOOLS_INVALID",
  "TOOLS_SHAPE",
  "UNBOUNDED_CYCLE",
  "UNKNOWN_EDGE_SOURCE",
  "UNKNOWN_EDGE_TARGET",
  "UNKNOWN_PATH",
  "UNKNOWN_PATH_ROOT",
  "UNKNOWN_PROVIDER",
  "UNKNOWN_SKILL",
  "UNKNOWN_STATE",
  "UNKNOWN_TOOL",
  "UNREACHABLE_NODE",
  "UNSUPPORTED_EVAL_POLICY",
  "VARIABLE_MISSING",
  "VARIABLE_REFUSED",
] as const;

export type DiagnosticCode = (typeof DIAGNOSTIC_CODES)[number];

/** A finding about what an author wrote: returned, all of them together, never thrown one by one. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly code: DiagnosticCode;
  readonly message: string;
  /** Keys and indexes from the document's root. */
  readonly path: readonly (string | number)[];
  /** The same as people write it: `nodes.collect.context[1]`; empty for the document itself. */
  readonly field?: string;
  readonly hint?: string;
  readonly file?: string;
  /** 1-based. */
  readonly line?: number;
  readonly column?: number;
}

/** A diagnostic, or a note: that is told and raises nothing, and no `--strict` makes more of it. */
export interface Finding extends Omit<Diagnostic, "severity"> {
  readonly severity: Diagnostic["severity"] | "note";
}

export function isDiagnostic(finding: Finding): finding is Diagnostic {
  return finding.severity !== "note";
}

/** With the field's path as people write it, beside its keys. */
export function withField<Found extends Finding>(found: Found): Found & { readonly field: string } {
  return { ...found, field: fieldPath(found.path) };
}

/** As a reader of the file meets them. */
export function byPlace(a: Finding, b: Finding): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

export function hasErrors(diagnostics: readonly Finding[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === "error");
}

/** `nodes.collect.context[1]`: how a field path is written for people and in the trace (workflow-format D20). */
export function fieldPath(path: readonly (string | number)[]): string {
  return path.map((key, i) => (typeof key === "number" ? `[${key}]` : i === 0 ? key : `.${key}`)).join("");
}
