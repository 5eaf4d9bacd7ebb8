import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { stringify } from "yaml";
import type { Blobs } from "../../core/base/blobs.ts";
import { SkillflowError, usageError } from "../../core/base/errors.ts";
import {
  deepEqual,
  defined,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  stringsIn,
} from "../../core/base/values.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import { canonicalJson } from "../../core/engine/event/operation.ts";
import type { RunRecord, Settings } from "../../core/engine/event/record.ts";
import { stateOf } from "../../core/engine/fold/fold.ts";
import { describeResult } from "../../core/engine/result/result.ts";
import { OWN_TOOLS } from "../../core/engine/tools/own-tools.ts";
import { escapeGlobs, type Fixture } from "../../core/outward/testing/fixtures.ts";
import { outcomeOf } from "../../core/outward/testing/outcome.ts";
import type { Expected, TestCase, TestFile } from "../../core/outward/testing/test-file.ts";
import { placeNamed } from "../../loaders/documents/test-file.ts";
import { findRecording } from "../adapters/stores.ts";
import { documentsOf, shownPath, type Workspace } from "../host.ts";
import type { AcceptedFile } from "./accept.ts";
import { rootOfTest } from "./find.ts";

/** Turns a recorded run into a test of its workflow. Returns the test file and its recording. */
export async function testFromRun(workspace: Workspace, given: string): Promise<readonly [AcceptedFile, AcceptedFile]> {
  const { host, store } = workspace;
  const { stored, path } = await findRecording(workspace, given);
  const { record, events } = stored;
  const place = placeOfWorkflow(workspace, record.file);
  const name = `${basename(place, extname(place))}.${checkedName(record.run)}`;
  const [test, recording] = [join(dirname(place), `${name}.test.yml`), join(dirname(place), `${name}.jsonl`)];
  for (const taken of [test, recording]) {
    if (!existsSync(taken)) continue;
    throw usageError(`${shownPath(host, taken)} already exists`, "remove it first: nothing was written");
  }
  const approvals = recordedApprovals(events);
  const tools = await recordedTools(events, store.blobs(record.run));
  const document: TestFile = {
    workflow: `./${basename(place)}`,
    model: `replay:./${basename(recording)}`,
    ...(record.settings.writes === (record.workflow.writes ?? "allow") ? {} : { writes: record.settings.writes }),
    ...(Object.keys(tools).length === 0 ? {} : { tools: tools as TestFile["tools"] }),
    cases: [
      {
        name: `as in run ${record.run}`,
        input: record.input,
        ...(Object.keys(approvals).length === 0 ? {} : { approvals }),
        expect: expectedOf(record, events),
      },
    ],
  };
  const file = resolve(host.cwd, path);
  const lines = existsSync(file)
    ? readFileSync(file, "utf8")
    : [record, ...events].map((line) => `${JSON.stringify(line)}\n`).join("");
  const root = rootOfTest(host, place);
  const head = `# Made from run ${record.run} by skillflow test --from.\n`;
  return [
    { path: test, text: `${head}${stringify(document, { lineWidth: 120, blockQuote: "literal" })}`, root },
    { path: recording, text: lines, root },
  ];
}

/** Expects what the run did. Leaves out the nodes of inner runs if some ran concurrently, because their order may differ. */
function expectedOf(record: RunRecord, events: readonly RunEvent[]): Expected {
  const state = stateOf({ record, events });
  if (state.visits > state.path.length)
    throw usageError("a resume of the run repeated nodes: a test cannot repeat that", OTHERWISE);
  checkLimits(state.run.settings, record, events);
  const result = describeResult(record, state);
  const outcome = outcomeOf({ record, events, result, changedPrompts: undefined });
  const called = outcome.called.filter((tool) => !OWN_TOOLS.includes(tool));
  const documents = [record, ...Object.values(record.inner ?? {})].map(({ workflow }) => workflow);
  const isOrdered = documents.every(({ nodes }) =>
    Object.values(nodes).every(({ map }) => (map?.concurrency ?? 1) === 1),
  );
  return {
    status: outcome.status,
    ...defined("verdict", outcome.verdict),
    path: [...(isOrdered ? outcome.everyPath : outcome.path)],
    ...(called.length === 0 ? {} : { called }),
    ...(outcome.planned.length === 0
      ? {}
      : {
          planned: outcome.planned.map(({ tool, input }) => ({ tool: String(tool), input: repeatable(record, input) })),
        }),
  };
}

/** Leaves out the members of an input that name the run, because a test's run has an id of its own. */
function repeatable({ run, report_url }: RunRecord, input: Json | undefined): Json | undefined {
  if (!isObject(input)) return input;
  const isOfRun = (value: Json = null) =>
    stringsIn(value).some(
      (text) => text.split(/[^\w.-]+/).includes(run) || (report_url !== undefined && text.includes(report_url)),
    );
  return Object.fromEntries(Object.entries(input as JsonObject).filter(([, value]) => !isOfRun(value)));
}

/** Throws if a limit that depends on the time or the day was reached, or if a resume changed the one that was reached. */
function checkLimits({ limits }: Settings, { settings }: RunRecord, events: readonly RunEvent[]): void {
  const reached = events.filter((event) => event.type === "limit:reached");
  const timed = reached.find(({ limit }) => /timeout$|_per_day$/.test(limit));
  if (timed) throw usageError(`${timed.message}: a test cannot repeat that`, OTHERWISE);
  if (reached.some(({ at }) => at === undefined) && !deepEqual(limits, settings.limits))
    throw usageError("a resume of the run changed a limit that was reached: a test cannot repeat that", OTHERWISE);
}

const OTHERWISE = "write the test by hand, or make it from another run";

/** Returns the answer to each approval. Throws if answers differ or were late, because a test cannot repeat that. */
function recordedApprovals(events: readonly RunEvent[]): NonNullable<TestCase["approvals"]> {
  const approvals: Record<string, "approve" | "deny"> = {};
  for (const given of events) {
    if (given.type !== "approval:given") continue;
    const node = nodePath(given.at, given.node);
    const answer = given.approved ? "approve" : "deny";
    const isNew = approvals[node] === undefined || approvals[node] === answer;
    if (given.late !== true && isNew) approvals[node] = answer;
    else {
      const why = isNew ? "was not answered in time" : "was both approved and denied";
      throw usageError(`the approval ${node} ${why}: a test cannot repeat that`, OTHERWISE);
    }
  }
  return approvals;
}

/** Returns the path of the run's workflow. Throws if it is outside of the project, because a record is untrusted. */
function placeOfWorkflow({ host }: Workspace, file: string | undefined): string {
  if (file === undefined) throw usageError("the run's workflow was not a file, so no test can refer to it");
  const path = resolve(documentsOf(host), file);
  const place = placeNamed(path, relative(documentsOf(host), path), rootOfTest(host, resolve(documentsOf(host), "x")));
  if ("path" in place) return place.path;
  throw usageError(`the run's workflow cannot be tested: ${place.message}`, place.hint);
}

function checkedName(run: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,100}$/.test(run)) return run;
  throw new SkillflowError("recording.invalid", "the run's id is not a valid file name");
}

/**
 * Collects the recorded results of skills' tools as fixtures, by input: one if all its results are equal. Longer patterns
 * come first.
 */
async function recordedTools(events: readonly RunEvent[], blobs: Blobs): Promise<Record<string, Fixture[]>> {
  const inputs = new Map<string, Json>();
  const rows = new Map<string, Map<string, Fixture[]>>();
  for (const event of events) {
    if (event.type === "tool:call") inputs.set(event.id, event.input);
    const isAnswer = event.type === "tool:result" && event.ref !== undefined && !event.planned;
    if (!isAnswer || event.code === "tool.unknown" || event.code === "input.invalid" || OWN_TOOLS.includes(event.tool))
      continue;
    const when = escapeGlobs(inputs.get(event.id) ?? {});
    const known = rows.get(event.tool) ?? new Map<string, Fixture[]>();
    rows.set(event.tool, known);
    const key = canonicalJson(when);
    const { error, acted, output = null } = event;
    const row =
      error === undefined ? { when, output: await whole(output, blobs) } : { when, error, ...defined("acted", acted) };
    const same = known.get(key);
    if (same) same.push(row);
    else known.set(key, [row]);
  }
  // A short input may fit calls that a longer one is meant for.
  const sorted = [...rows].map(([tool, known]) => [tool, [...known].sort(([a], [b]) => b.length - a.length)] as const);
  return Object.fromEntries(sorted.map(([tool, known]) => [tool, known.flatMap(([, same]) => withoutRepeats(same))]));
}

/** Leaves out the rows at the end that repeat the one before, because the last row answers all further calls. */
function withoutRepeats(rows: readonly Fixture[]): readonly Fixture[] {
  const last = rows.at(-1);
  return rows.slice(0, rows.findLastIndex((row) => !deepEqual(row, last)) + 2);
}

/** Replaces blob references in a result by the blobs' content. */
async function whole(output: Json, blobs: Blobs): Promise<Json> {
  if (!isObject(output)) return output;
  const { blob_id, kind } = output;
  if (typeof blob_id === "string" && typeof kind === "string" && "head" in output) {
    const info = await blobs.info(blob_id);
    if (!info) return output as Json;
    const text = readFileSync(await blobs.file(blob_id), "utf8");
    return kind === "application/json" ? (parseJson(text) ?? text) : text;
  }
  const members = Object.entries(output).map(async ([key, item]) => [key, await whole(item as Json, blobs)] as const);
  return Object.fromEntries(await Promise.all(members));
}
