import type { RecordedOption } from "../../core/event/record.ts";
import type { Host, WorkspaceOptions } from "../host.ts";

/** The options that a command needs again to continue a run. Values of `--set` may be secrets, so only their keys are kept, and trust is never recorded. */
export function optionsAgain({ envFrom }: Pick<Host, "envFrom">, options: WorkspaceOptions): RecordedOption[] {
  const { skillFlags, store } = options;
  const given: readonly (readonly [RecordedOption["name"], string | boolean | undefined])[] = [
    ["env-from", envFrom],
    ...[...options.overrides.keys()].map((key) => ["set", `${key}=VALUE`] as const),
    ...options.skillDirs.map((folder) => ["skills", folder] as const),
    ["no-discover", !options.discover],
    ...(skillFlags?.variables ?? []).map((pair) => ["skill-env", pair.join("=")] as const),
    ...(skillFlags?.effects ?? []).map((pair) => ["effect", pair.join("=")] as const),
    ["skill-order", skillFlags?.order],
    ["allow-scripts", skillFlags?.allowScripts],
    ["allow-define-tool", skillFlags?.allowDefineTool],
    ["writable-workdir", options.writableWorkdir],
    ["store", typeof store === "string" ? store : undefined],
    ["engine", typeof store === "object" && "engine" in store ? store.engine : undefined],
    ["state", typeof options.state === "string" ? options.state : undefined],
    ["offline", options.offline],
  ];
  return given.flatMap(([name, value]): RecordedOption[] => {
    if (value === undefined || value === false) return [];
    return [value === true ? { name } : { name, value }];
  });
}
