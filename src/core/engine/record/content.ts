import type { Redactor } from "../../base/redact/redact.ts";
import {
  checkedAs,
  defined,
  isObject,
  type Json,
  type JsonObject,
  mapped,
  mapStrings,
  toJson,
} from "../../base/values.ts";
import type { EventBody, EventOf } from "../event/event.ts";
import type { Part } from "../event/prompt.ts";
import type { ChangedSkills, ResolvedSource, RunRecord } from "../event/record.ts";
import type { Refusal } from "../result/refusal.ts";

/**
 * Redaction of a record's content: text of people, models and programs. Everything else is structure that the fold
 * reads, or the author's own text, and is not searched for secrets.
 */

export function redactRecord(record: RunRecord, redactor: Texts): RunRecord {
  const { text, value } = redactor;
  const inner = Object.entries(record.inner ?? {}).map(([path, document]) => {
    return [path, { ...document, sources: redactSources(document.sources, redactor) }];
  });
  return {
    ...record,
    input: value(record.input),
    sources: redactSources(record.sources, redactor),
    skills: record.skills.map((skill) =>
      skill.reason === undefined ? skill : { ...skill, reason: text(skill.reason) },
    ),
    ...(record.inner ? { inner: Object.fromEntries(inner) } : {}),
    ...(record.states ? { states: checkedAs<NonNullable<RunRecord["states"]>>(value(toJson(record.states))) } : {}),
    ...(record.cooled === undefined ? {} : { cooled: text(record.cooled) }),
    warnings: record.warnings.map(text),
  };
}

type Texts = Pick<Redactor, "text" | "value">;
type PartTexts = Texts & { readonly offered: readonly string[] };

/** Redacts sources. Inline text is the author's and stays, but files and input come from elsewhere. */
function redactSources(sources: RunRecord["sources"], { text, value }: Texts): RunRecord["sources"] {
  const redacted = Object.entries(sources).map(([path, source]): [string, ResolvedSource] => {
    const isInput = path.startsWith("input.");
    if (source.kind === "inline" && !isInput) return [path, source];
    return [path, { ...source, content: text(source.content), origin: isInput ? value(source.origin) : source.origin }];
  });
  return Object.fromEntries(redacted);
}

export function redactRefusal(refusal: Refusal, text: Redactor["text"]): Refusal {
  const { error, diagnostics } = refusal;
  return { ...refusal, error: redactFinding(error, text), diagnostics: redactFinding(diagnostics, text) };
}

/** Redacts all strings of findings, because a file's name or a field can contain a secret too. */
export function redactFinding<Value>(finding: Value, text: Redactor["text"]): Value {
  return checkedAs<Value>(mapStrings(finding as Json, text));
}

/** Redacts the outcome of model and tool calls. `offered` are the names of tools that stay as they are. */
export function redactOutcome(body: EventBody, { text, value }: Redactor, offered: readonly string[] = []): EventBody {
  switch (body.type) {
    case "model:reply":
      return withField(body, "parts", redactParts(body.parts, { text, value, offered }));
    case "model:error":
    case "run:fail":
      return { ...body, message: text(body.message), ...(body.hint === undefined ? {} : { hint: text(body.hint) }) };
    case "model:switch":
      return withField(body, "reason", text(body.reason));
    case "warning":
      return { ...body, message: text(body.message) };
    case "tool:result":
      return body.error === undefined
        ? withField(body, "output", value(body.output ?? null))
        : withField(body, "error", text(body.error));
    default:
      return body;
  }
}

/** Replaces a field. Returns the same object if nothing changes, because most text has no secret. */
function withField<Whole extends object, Key extends keyof Whole>(whole: Whole, key: Key, value: Whole[Key]): Whole {
  return whole[key] === value ? whole : { ...whole, [key]: value };
}

function redactParts(parts: Part[], texts: PartTexts): Part[] {
  const redacted = mapped(parts, (part) => redactPart(part, texts));
  return redacted.every((part, index) => part === parts[index]) ? parts : redacted;
}

function redactPart(part: Part, { text, value, offered }: PartTexts): Part {
  const toolIn = (tool: string) => (offered.includes(tool) ? tool : text(tool));
  switch (part.type) {
    case "text":
      return withField(part, "text", text(part.text));
    case "broken_call":
      return withField(withField(part, "tool", toolIn(part.tool)), "text", text(part.text));
    case "call":
      return withField(withField(part, "tool", toolIn(part.tool)), "input", value(part.input));
    case "opaque":
      return { ...part, value: redactOpaque(part.value, text) };
  }
}

/** Keys that the provider reads, which must not change. */
const STRUCTURE: ReadonlySet<string> = new Set(["type", "id", "format"]);

function redactOpaque(value: Json, text: Redactor["text"]): Json {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return value.map((item) => redactOpaque(item, text));
  if (!isObject(value)) return value;
  const members = Object.entries(value as JsonObject).map(([key, member]) => {
    return [key, STRUCTURE.has(key) ? member : redactOpaque(member, text)] as const;
  });
  return Object.fromEntries(members);
}

type Examined = Pick<EventOf<"evidence:checked">, "claims" | "texts" | "refuted" | "excerpts">;

/** Redacts a decision. Parsing a model's text may join the parts of a secret that were separate in it. */
export function redactDecision(body: EventBody, { text, value }: Redactor): EventBody {
  if (body.type === "evidence:checked") {
    const { claims, texts, refuted, excerpts } = body;
    return { ...body, ...checkedAs<Examined>(value(toJson({ claims, texts, refuted, excerpts }))) };
  }
  if (body.type === "approval:given") {
    const note = body.note === undefined ? {} : { note: text(body.note) };
    return { ...body, by: text(body.by), ...note, ...changedSkills(body, text) };
  }
  if (body.type === "approval:refused") return { ...body, by: text(body.by), reason: text(body.reason) };
  if (body.type === "run:resume") return { ...body, ...changedSkills(body, text) };
  if (body.type === "inner:start") {
    // The fields of the first item are left out after redaction, because several fields can contain one secret together.
    const input = value(body.input);
    if (!body.same) return { ...body, input };
    const same = Object.keys(value(Object.fromEntries(body.same.map((name) => [name, ""]))));
    return { ...body, input: Object.fromEntries(Object.entries(input).filter(([name]) => !same.includes(name))), same };
  }
  if (body.type === "inner:end") {
    const judged = body.judged && { ...body.judged, values: value(body.judged.values) };
    return { ...body, data: value(body.data), ...defined("judged", judged) };
  }
  if (body.type !== "node:exit") return body;
  const degraded = body.degraded?.map((each) => ({ ...each, reason: text(each.reason) }));
  const redacted = withField(body, "result", withField(body.result, "data", value(body.result.data)));
  return degraded ? { ...redacted, degraded } : redacted;
}

function changedSkills({ skills }: { readonly skills?: ChangedSkills | undefined }, text: Redactor["text"]) {
  if (!skills) return {};
  return { skills: skills.map(({ reason, ...skill }) => ({ ...skill, ...defined("reason", reason && text(reason)) })) };
}
