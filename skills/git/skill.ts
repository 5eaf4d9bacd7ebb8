import { defineSkill, defineTool } from "skillflow";
import { lazy, resultSchema, setting, variables } from "skillflow/internal";
import { readFileAt, showBlame } from "./contents.ts";
import { changedInput, diffInput, linesInput, logInput, refsInput, showInput, surveyInput } from "./inputs.ts";
import { lacksRepository } from "./repository.ts";
import { surveyHistory } from "./survey.ts";
import { showChangedFiles, showCommits, showDiff, showLog, showRefs } from "./tools.ts";

/** Reads commits up to the run's clock. */
const HISTORY = { effect: "read", origin: "team", clock: "range" } as const;

const changed = "files:[any] files_changed:number";
const cutShort = "truncated:flag more note";

export default defineSkill({
  id: "git",
  name: "Git repository",
  description: "Read the history, changes and files of a local git repository or bundle",
  category: "git",
  config: variables({
    GIT_REPOSITORY: setting(
      "path",
      "The repository's directory or bundle; default: the working directory. The skill is left out of a run that has neither, and whose input and texts name no repository or bundle below the working directory.",
    ),
    PATH: setting("text", "Where the git program is looked for."),
  }),
  lacks: lacksRepository,
  get tools() {
    return tools();
  },
});

/** Built on first use: before a run, only `lacks` is asked. */
const tools = lazy(() =>
  [
    defineTool({
      name: "survey",
      description:
        "Shows what changed before an instant: commits with files and size, tags, the diff of what was deployed or last released, the README's beginning",
      ...HISTORY,
      range: { to: "around" },
      selects: ["paths"],
      input_schema: surveyInput(),
      output_schema: resultSchema(
        "commits tags truncated",
        `commits:[{ id date author subject added:number deleted:number files:[text] files_changed:number deployed:flag
          }] tags:[{ name id date }] release:{ from to date diff ${changed} truncated:flag } readme truncated:flag`,
      ),
      handler: surveyHistory,
    }),
    defineTool({
      name: "log",
      description: "Lists commits, newest first: author, date and message",
      ...HISTORY,
      range: { from: "since", to: "until" },
      selects: ["from", "to", "path", "author", "grep", "changes_text"],
      input_schema: logInput(),
      output_schema: resultSchema(
        "commits truncated",
        `returned:number commits:[{ id date author subject body merge:flag ${changed} diff diff_truncated:flag }]
          ${cutShort}`,
      ),
      handler: showLog,
    }),
    defineTool({
      name: "show",
      description: "Shows commits: message, changed files, diff. Several share the room of one",
      ...HISTORY,
      input_schema: showInput(),
      output_schema: resultSchema(
        "commits",
        `commits:[{ id parents:[text] author date message ${changed} diff ${cutShort} }]`,
      ),
      handler: showCommits,
    }),
    defineTool({
      name: "diff",
      description: "Shows the difference between two commits",
      ...HISTORY,
      selects: ["path"],
      input_schema: diffInput(),
      output_schema: resultSchema("diff truncated", `from to range diff ${changed} ${cutShort}`),
      handler: showDiff,
    }),
    defineTool({
      name: "changed_files",
      description: "Lists files changed between two commits, with line counts, and the commits between them",
      ...HISTORY,
      selects: ["path"],
      input_schema: changedInput(),
      output_schema: resultSchema("files commits", `from to range ${changed} commits:[text] ${cutShort}`),
      handler: showChangedFiles,
    }),
    defineTool({
      name: "blame",
      description: "Tells which commit last changed each line of a file",
      ...HISTORY,
      echoes: ["path"],
      input_schema: linesInput("Default 100 lines"),
      output_schema: resultSchema(
        "lines commits",
        `path at ref lines:[text] commits:[{ id author date subject }] ${cutShort}`,
      ),
      handler: showBlame,
    }),
    defineTool({
      name: "read_file",
      description: "Reads a file as it was at a commit, with line numbers",
      ...HISTORY,
      echoes: ["path"],
      input_schema: linesInput("Default 400 lines"),
      output_schema: resultSchema("text truncated", `path at ref text bytes:number ${cutShort}`),
      handler: readFileAt,
    }),
    defineTool({
      name: "refs",
      description: "Lists branches and tags, newest first, with their commits",
      ...HISTORY,
      input_schema: refsInput(),
      output_schema: resultSchema("refs", `head refs:[{ name kind id date }] ${cutShort}`),
      handler: showRefs,
    }),
  ].map((tool) => ({ ...tool, settled_by: { repository: "GIT_REPOSITORY" } })),
);
