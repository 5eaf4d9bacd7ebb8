import type { ErrorCode } from "../errors.ts";
import type { Explanation } from "./explanation.ts";

/** Every code that an error can have; one without an explanation does not compile. Some are those of a single tool call. */
export const ERRORS: Readonly<Record<ErrorCode, Explanation>> = {
  // ---- 2: what was given is wrong

  "usage.invalid": {
    what: "The command line, a `SKILLFLOW_…` variable, or what a program gave to the library is wrong. Nothing ran.",
    mend: "Do what the hint says; `skillflow COMMAND --help` shows what is possible.",
  },
  "workflow.invalid": {
    what: "The workflow has errors, and they stand above this line. Nothing ran.",
    mend: "`skillflow validate WORKFLOW` tells all of them, with file, line and column. Each has a code of its own that can be explained.",
  },
  "input.invalid": {
    what: "The input of a run, or of one tool call, does not fit what was declared. A run does not begin; a call is not carried out, and the model is told why.",
    why: "Of a run: no JSON, or fields that do not fit the workflow's `inputs`. Of a call: arguments that do not fit the tool's schema, or a path that leads out of its place.",
    mend: "Of a run: correct `--input` and `-i`; `skillflow run` lists every field at once. Of a call nothing has to be done, unless it comes again and again: then say in the node's instruction what the tool wants.",
  },
  "config.invalid": {
    what: "A config file (`.skillflow.yml`, your own `config.yml`), `skillflow.lock` or the address of a model's service is not as it has to be.",
    why: "YAML that is none, a key that is not known, a base URL without http, or a node whose `model` is `replay:` or `script:`, which answer for whole runs alone.",
    mend: "Correct what the message names; `skillflow schema config` prints the config's JSON Schema. A lock that was damaged is taken back from version control or written anew with `skillflow mcp-lock`.",
  },
  "skill.invalid": {
    what: "A skill as code is wrong: its file cannot be loaded, exports no skill, or defines one that cannot be used.",
    why: "An error in the code, a package that is not installed, an id that differs from the one under which the skill was found, or two skills of one id given to the library.",
    mend: "`skillflow skills lint PATH` tells what the text shows; the message names the file and what it lacks.",
  },
  "run.unknown": {
    what: "There is no run of that id in the store, or what was typed begins several ids.",
    why: "Another `--store`, or another directory: runs are kept in `.skillflow/runs` of the project. `latest` means runs, not replays or dry runs.",
    mend: "`skillflow runs list` shows what is there; type more of the id.",
  },
  "run.exists": {
    what: "There is a run of that id already, and a run is never overwritten.",
    mend: "Carry it on with `skillflow resume ID`, or choose another `--run-id`.",
  },
  "run.finished": {
    what: "The run has succeeded: there is nothing to carry on.",
    mend: "Redo a part of it with `--from NODE`, or begin a new run.",
  },
  "recording.invalid": {
    what: "A recording or a script is missing, damaged or in no known form. Nothing ran.",
    why: "A path that is wrong, a script that is no map with `replies`, or a run's file that something else than skillflow has changed.",
    mend: "Correct the path or the file. A damaged run can be resumed without the damaged line and all that follow it; `skillflow runs verify RUN` shows where it is.",
  },

  // ---- 1: the workflow ran and failed

  "node.failed": {
    what: "A node failed, and no edge took the failure.",
    why: "The answer did not fit `output`, an evaluator failed in every attempt, `requires` was not met, the model refused or was cut off, or a limit of turns or the node's `timeout` was reached.",
    mend: "`skillflow runs show RUN` tells at which node and why. If something outside was to blame, `skillflow resume RUN` tries the node again, with the workflow as it was recorded. If the workflow has to change, run it anew: an edge with `if: NODE.error exists`, `retry` or `fail_soft` at the node let a run go on.",
  },
  "route.unresolved": {
    what: "No edge could be chosen: twice the model named none of those that could be followed. Nothing is followed by default.",
    mend: "`skillflow resume RUN --model PROVIDER:NAME` asks a stronger model. For good: let code choose with `if`, make the conditions exclude each other, or add an edge without a condition, and run it anew; a resumed run keeps its recorded workflow.",
  },
  "replay.missing": {
    what: "The recording holds no reply or no tool result for this step: the run took another way than the recorded one.",
    why: "The workflow, its input or what a tool gives has changed so much that other steps follow.",
    mend: "Record it again with a live model.",
  },
  "replay.changed": {
    what: "The replay went through, but prompts or tools differ from the recording. The diff stands above.",
    mend: "If the changes are meant, record the run again, or let them pass with `--allow-changes`.",
  },
  "script.exhausted": {
    what: "The script has no reply left that fits this call. Each reply is used once, by the first call of its purpose at its node.",
    mend: "Add a reply for the node and purpose that the message names: `text`, `calls` or `data` for work, `choice` for a route, `verdict` for a judge, `reflection` for a diagnosis.",
  },
  "run.no_work": {
    what: "Every node that was visited was skipped, so no work was done. That is never a success.",
    why: "`requires` with `on_fail: skip` was not met, usually because the input lacks a field.",
    mend: "`skillflow runs show RUN` tells why each node was skipped.",
  },
  "tool.failed": {
    what: "A tool call failed; the message is the tool's own. The model is told, and may go on without it.",
    mend: "Read the message: it is most often the service's answer (a missing right, a wrong id, a rate limit). `skillflow doctor --live` asks each configured service once.",
  },
  "tool.timeout": {
    what: "A tool call took longer than it may (60 s unless `--tool-timeout` says otherwise) and was ended with all that it had started. Whether a write was carried out is not known.",
    mend: "Raise `--tool-timeout`, or ask for less at once. Before a write is repeated, look whether it is there.",
  },
  "tool.unknown": {
    what: "No tool of that name can be called here.",
    why: "A model made a name up, the node's `tools` or `effects` leave the tool out, its skill is unavailable, or an MCP server no longer offers it.",
    mend: "`skillflow skills show ID` lists the tools of a skill; `skillflow doctor WORKFLOW` tells what is unavailable and why.",
  },
  "output.invalid": {
    what: "What a tool gave back is not what it declares: no JSON, or a result that does not fit its `output_schema`. The call counts as failed.",
    mend: "Mend the tool or its schema. If it writes, look what it did: it ran.",
  },
  "call.refused": {
    what: "A tool call was not carried out, because it may not be.",
    why: "A program or subcommand that the allowlist does not name, a tool that may write where only reading is allowed, skills that call each other in a circle, or a tool of an MCP server that has changed since it was locked.",
    mend: "Change what forbids it, if it should be allowed: the allowlist, the declared `effect`, or the lock (`skillflow mcp-lock`).",
  },
  "call.in_doubt": {
    what: "A call that writes was under way when the process or the server was lost. It may have been carried out, and was not repeated.",
    mend: "Look in the service whether it is there before it is done again. Of a planned write say what you found: `skillflow apply RUN --resolve op-2=applied` or `op-2=not-applied`.",
  },

  // ---- 3: something that is needed is missing

  "config.missing": {
    what: "Something that has to be configured is not set: the key of a model, or the token that callers of a server give.",
    why: "A variable that this shell or this CI job does not have. A `.env` file is read only where `--env-from` names it.",
    mend: "Set the variable that the message names. `skillflow doctor` tells what is set and what is not. To try a workflow without a key: `--model replay:FILE`.",
  },
  "skills.missing": {
    what: "Skills that are needed are unavailable: those of every visited node, those of every node that was left when the run was resumed, those that `--require-skills` asks for, or those that a plan needs to be applied.",
    why: "Their required config is not set, they are not trusted, or nobody has them.",
    mend: "`skillflow doctor WORKFLOW` tells what each of them lacks and how to mend it.",
  },
  "lock.differs": {
    what: "An MCP server offers something else than `skillflow.lock` says, or is not in it, and `--frozen` lets nothing run then.",
    why: "The server was updated, or somebody changed what its tools tell the model.",
    mend: "Look at the differences. If they are right, lock them with `skillflow mcp-lock` and commit the file.",
  },
  "actor.refused": {
    what: "The GitHub action was started by somebody who may not write to the repository, or nobody can tell by whom. No model was asked.",
    why: "A pull request or comment of a stranger, an App or bot that nobody named, an event that cannot be read, or a `github-token` that GitHub does not take.",
    mend: "Somebody with write access can start the job again. An App or a person that is to pass is named in the input `allow-actors`.",
  },

  // ---- 4: something outside broke

  "model.auth": {
    what: "The model's service did not accept the key, or the key holds blanks or line breaks.",
    mend: "Check the variable that the hint names: expired, of another organisation, or pasted with a line break. Then `skillflow resume RUN`.",
  },
  "model.unknown": {
    what: "The service has no such model, or the key may not use it.",
    why: "A typing error, a model that was retired, or a base URL of another service.",
    mend: "Where the run's own model is meant: `skillflow resume RUN --model PROVIDER:NAME`. Where the workflow or a node names it in `model`, correct it there and run it anew.",
  },
  "model.quota": {
    what: "The quota or the credit at the model's service is used up.",
    mend: "Raise it there, or go on with another provider: `skillflow resume RUN --model PROVIDER:NAME`.",
  },
  "model.overloaded": {
    what: "The model's service could not answer, in six tries with growing pauses: it is busy, limits the rate, or has a fault. Where it asks for a pause of more than two minutes, it is not tried again.",
    mend: "Wait, then `skillflow resume RUN`: nothing that was paid for is asked again. Or use another provider.",
  },
  "model.unreachable": {
    what: "The model's service cannot be reached, or sent nothing for too long, in six tries.",
    why: "No network, a name that has no address, a firewall, or a wrong base URL (`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL`).",
    mend: "Check the network and the base URL from this machine, then `skillflow resume RUN`.",
  },
  "model.rejected": {
    what: "The service refused the request itself, so asking again would not help.",
    why: "A prompt that is too long for the model, a tool or output schema that the service does not take, or a setting that the model does not know.",
    mend: "Read the service's message. Give the node fewer tools or less context, or simplify its `output`, and run it anew; or go on with another model: `skillflow resume RUN --model PROVIDER:NAME`.",
  },
  "model.garbled": {
    what: "The service sent what is no answer of its API, in every try.",
    why: "A proxy or gateway in between that answers with a page of its own, or a server that is compatible only in part.",
    mend: "Ask the base URL with `curl` and look at what it sends. Of a model that a program brings along: mend its reply.",
  },
  "model.silent": {
    what: "The model gave an empty answer, and another one when it was asked again.",
    mend: "`skillflow resume RUN`, with another model if it happens again.",
  },
  "offline.refused": {
    what: "Something beyond this machine would have been contacted, and the run is `--offline`. MCP servers that are commands are not started either, and states on a branch are not fetched.",
    mend: "Run without `--offline`, take that skill from the node, or keep the state in a folder.",
  },
  "server.failed": {
    what: "A server failed: an MCP server or an agent that skillflow asks was lost, refused or sent nonsense; or skillflow's own server could not listen.",
    mend: "Of an MCP server: start its command by hand, or ask its address; `skillflow doctor --live` tries each. Of `serve` and `mcp --http`: choose another `--port`.",
  },
  "calls.full": {
    what: "256 tool calls are waiting already, so this one was not taken. Eight run at once in a process.",
    mend: "Try again later, or spread the load over several processes.",
  },
  "blob.unknown": {
    what: "There is no blob of that id in this run, or its file is not what was kept.",
    why: "A model made the id up, the run's files were removed (`runs prune`), or something else changed them.",
    mend: "`skillflow runs verify RUN` tells whether blobs were changed. Otherwise nothing has to be done: the model was told.",
  },
  "blob.refused": {
    what: "A blob was not kept: larger than 256 MiB, more than 2 GiB together, or the disk refused it; or it cannot be given to a program because it is kept in memory.",
    mend: "Have the tool give less (a filter, a shorter time), or free space: `skillflow runs prune --keep N`.",
  },
  "sandbox.missing": {
    what: "This machine has no sandbox that works, and code of skills is not run without one.",
    why: "bubblewrap is not installed, a container forbids user namespaces, or this is no Linux.",
    mend: "`apt-get install bubblewrap`; in a container allow user namespaces; elsewhere run skillflow on Linux, in a virtual machine for example. `skillflow doctor --live` tells which sandbox works.",
  },
  "sandbox.failed": {
    what: "A program could not be started or ended in the sandbox.",
    why: "It is not installed or not executable, a folder that it needs is missing or a link, `TMPDIR` has a very long path, or its declared hosts need a sandbox that isolates.",
    mend: "Do what the hint says; most often the program or bubblewrap has to be installed.",
  },
  "sandbox.limit": {
    what: "Code of a skill was ended because it needed too much memory, too many processes, or too much disk, or printed too much.",
    mend: "Have it work on less at once, and write large results to a file or a blob in place of printing them.",
  },
  "store.locked": {
    what: "Another process is driving this run. One at a time may.",
    why: "The run is still going in another terminal or job; or its machine is gone, and the lock stayed behind on a shared disk.",
    mend: "Wait for it to end. Only if you know that the process is gone, delete the lock that the hint names. The lock of a dead process on this machine is taken over by itself.",
  },
  "store.full": {
    what: "The disk is full, so the run could not be recorded. It stopped; what was recorded is whole.",
    mend: "Free space (`skillflow runs prune --keep N` removes old runs), then `skillflow resume RUN`.",
  },
  "store.failed": {
    what: "The store of runs cannot be read or written.",
    why: "Permissions, a disk with errors or mounted read-only, or a run directory that is reached by a link.",
    mend: "Mend what the message says, or name another place with `--store DIR`. Then `skillflow resume RUN`.",
  },
  "journal.diverged": {
    what: "The run was recorded doing something else than this program would do at this point, so it is not carried on.",
    why: "It was made by another version of skillflow.",
    mend: "Go on with the version that made it, or start a new run.",
  },
  "run.altered": {
    what: "The record of the run is not as it was written, so nothing is taken from it; or its plan is to be applied and it has no digests that could tell.",
    why: "Somebody or something changed the file below `.skillflow/runs`.",
    mend: "`skillflow runs verify RUN` names each line. Take the record back from a copy, such as the `trace.jsonl` of `--out`, or run it again.",
  },
  "output.failed": {
    what: "A result, a report or the output itself could not be written.",
    why: "A folder that is not there or not writable, a full disk, or a program that stopped reading. Where it shows before the run, nothing ran.",
    mend: "Mend the path. The run is kept: `skillflow runs show RUN`.",
  },
  "plan.altered": {
    what: "The plan is not what the run planned, or not what was reviewed. Nothing was applied.",
    why: "Somebody changed plan.json or the run's record, or the run was carried on after the review.",
    mend: "Review what the run holds now, `skillflow apply RUN`, and find out who changed it.",
  },
  "internal.fault": {
    what: "A fault of skillflow itself, or of a plug-in's code outside of a call: the message names a plug-in that calls `process.exit`.",
    mend: "Run it again with `--verbose` and report what it prints. A run that was recorded can be resumed.",
  },

  // ---- 5 and 130: stopped before the end

  "limit.reached": {
    what: "A limit stopped the run: cost, tokens, steps or time. Results so far are kept. As the code of a call: one turn asked for more than 64 calls, the node has had all its turns, or a limit of time ended the call.",
    why: "The run needs more than expected, or goes round in a circle: `skillflow runs show RUN` tells its path.",
    mend: "Raise that limit and carry on, with the command that the run printed: `skillflow resume RUN --max-cost 5`, `--max-tokens`, `--max-steps` or `--timeout`. The time begins anew with each resume; the others count on.",
  },
  "run.waiting": {
    what: "The run waits for a person's word, and holds nothing open meanwhile.",
    mend: "`skillflow signal RUN NODE --approve` or `--deny` goes on, in any process that has the run.",
  },
  "run.interrupted": {
    what: "The run was interrupted: by Ctrl-C, a signal, the program that runs it, or the end of its process. All that was done is recorded.",
    mend: "`skillflow resume RUN` goes on. A write that was under way is not repeated: the model is told that it may have happened.",
  },
};
