import { byPlace, type Diagnostic } from "../../core/base/diagnostic.ts";
import { hasCode, messageOf } from "../../core/base/errors.ts";
import { isObject, PARSED_ONCE } from "../../core/base/values.ts";
import { checkListenFile } from "../../core/document/listen/check.ts";
import { type ListenFile, listenFileSchema } from "../../core/document/listen/listen-file.ts";
import { readRegular } from "../../files/files.ts";
import { parseDocument } from "./document-text.ts";
import { nearFile } from "./near-file.ts";
import { describeIssues } from "./schema-findings.ts";

export interface LoadedListenFile {
  /** Undefined if the file does not match its schema. */
  readonly file: ListenFile | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** Adds the places in the file to further findings. */
  place(findings: readonly Diagnostic[]): Diagnostic[];
}

/** Reads a `listen.yml` and reports all findings with their places. */
export function loadListenFile(path: string, shownAs: string): LoadedListenFile {
  const failed = (...found: Pick<Diagnostic, "code" | "message" | "hint" | "line" | "column">[]): LoadedListenFile => ({
    file: undefined,
    diagnostics: found.map((one) => ({ severity: "error", path: [], file: shownAs, ...one })),
    place: (findings) => [...findings],
  });
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(readRegular(path));
  } catch (error) {
    const isMissing = hasCode(error, "ENOENT");
    const hint = isMissing ? nearFile(path, shownAs) : undefined;
    const message = isMissing ? `there is no file ${shownAs}` : `${shownAs} cannot be read: ${messageOf(error)}`;
    return failed({ code: "IO", message, ...(hint === undefined ? {} : { hint }) });
  }
  const parsed = parseDocument(text, shownAs);
  if (parsed.faults.length > 0) return failed(...parsed.faults);
  const { value } = parsed;
  const place = (findings: readonly Diagnostic[]) => parsed.place(findings).sort(byPlace);
  if (!isObject(value)) return failed({ code: "SCHEMA", message: "must be a map with sources", line: 1, column: 1 });
  const checked = listenFileSchema().safeParse(value, PARSED_ONCE);
  if (!checked.success)
    return { file: undefined, diagnostics: place(describeIssues(listenFileSchema(), value)), place };
  return { file: checked.data, diagnostics: place(checkListenFile(checked.data)), place };
}
