import { byPlace, type Diagnostic } from "../../core/base/diagnostic.ts";
import { isObject, PARSED_ONCE } from "../../core/base/values.ts";
import { checkListenFile } from "../../core/document/listen/check.ts";
import { listenFileSchema } from "../../core/document/listen/listen-file.ts";
import { parseDocument, readDocument } from "./document-text.ts";
import { describeAll } from "./schema-findings.ts";

/** Reads a `listen.yml` and reports all findings with their places. `file` is undefined if it does not match its schema. */
export function loadListenFile(path: string, shownAs: string) {
  const text = readDocument(path, shownAs, "listen file");
  const unread = (diagnostics: readonly Diagnostic[]) => {
    return { file: undefined, diagnostics, place: (findings: readonly Diagnostic[]) => [...findings] };
  };
  if (typeof text !== "string") return unread([text]);
  const { value, faults, ...parsed } = parseDocument(text, shownAs);
  if (faults.length > 0) return unread(faults);
  const place = (findings: readonly Diagnostic[]) => parsed.place(findings).sort(byPlace);
  if (!isObject(value)) {
    const message = "must be a map with sources";
    return unread(place([{ severity: "error", code: "SCHEMA", path: [], message }]));
  }
  const schema = listenFileSchema();
  const { data: file, error } = schema.safeParse(value, PARSED_ONCE);
  const found = file ? checkListenFile(file) : describeAll(error?.issues ?? [], { schema, value });
  return { file, diagnostics: place(found), place };
}
