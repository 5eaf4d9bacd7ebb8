import { nearest } from "../../base/values.ts";

/** Kinds of nodes, each marked by one field, and the fields that each allows. */
const ONE_OF = ["instruction", "map", "call", "approval", "steps"] as const;
const AROUND = ["name", "requires", "output", "eval", "limits", "timeout", "fail_soft", "with"];

const FIELDS_OF: Readonly<Record<Exclude<(typeof ONE_OF)[number], "instruction">, readonly string[]>> = {
  map: ["map", "workflow", "nodes", "edges", "entry", ...AROUND],
  call: ["call", ...AROUND],
  approval: ["approval", "name", "requires"],
  steps: [
    "steps",
    "name",
    "skills",
    "workspace",
    "requires",
    "once",
    "effects",
    "show",
    "eval",
    "timeout",
    "fail_soft",
  ],
};

/** Fields that a node with an instruction does not have. */
const NOT_ASKED = ["workflow", "nodes", "edges", "entry", "with", "limits", "show"];

type Refuse = (problem: { path: string[]; message: string }) => void;

/** Checks a node's kind. Reports no missing kind if one of the `unknown` keys resembles a kind's name. */
export function checkKind(fields: object, unknown: readonly string[], refuse: Refuse): void {
  const [kind, ...others] = ONE_OF.filter((each) => each in fields && Reflect.get(fields, each) !== undefined);
  if (kind === undefined || others.length > 0) {
    const given = ONE_OF.filter((field) => field in fields);
    if (given.length > 1)
      refuse({
        path: [given[1] ?? ""],
        message: `cannot be combined with ${given[0]}: a node must have exactly one of ${ONE_OF.join(", ")}`,
      });
    else if (!unknown.some((key) => nearest(key, ONE_OF)))
      refuse({ path: ["instruction"], message: `is required: a node must have one of ${ONE_OF.join(", ")}` });
    return;
  }
  for (const field of Object.keys(fields)) {
    const isFitting = kind === "instruction" ? !NOT_ASKED.includes(field) : FIELDS_OF[kind].includes(field);
    if (!isFitting) refuse({ path: [field], message: `is not a field of a node with ${kind}` });
  }
  if (kind !== "map") return;
  const isInline = "nodes" in fields;
  if (isInline === "workflow" in fields)
    refuse({ path: ["map"], message: "needs workflow, or nodes, edges and entry" });
  for (const field of ["edges", "entry"]) {
    if (isInline && !(field in fields)) refuse({ path: [field], message: "is required with nodes" });
    if (!isInline && field in fields) refuse({ path: [field], message: "needs nodes" });
  }
}

const ifKind = (kind: string, then: object) => ({ if: { required: [kind] }, then });

/** Returns the same rules as JSON Schema. */
export const kindsMeta = () => ({
  oneOf: ONE_OF.map((kind) => ({ required: [kind] })),
  allOf: [
    ...Object.entries(FIELDS_OF).map(([kind, fields]) =>
      ifKind(kind, { propertyNames: { enum: [...new Set(fields)] } }),
    ),
    ifKind("instruction", { propertyNames: { not: { enum: NOT_ASKED } } }),
    ifKind("map", { oneOf: [{ required: ["workflow"] }, { required: ["nodes", "edges", "entry"] }] }),
  ],
  dependentRequired: { nodes: ["edges", "entry"], edges: ["nodes"], entry: ["nodes"] },
});
