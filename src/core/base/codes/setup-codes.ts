import type { DiagnosticCode } from "../diagnostic.ts";
import type { Explanation } from "./explanation.ts";

/** Findings about what is installed, configured and trusted, rather than about one file. */
export const SETUP_CODES = {
  CONFIG_RAISES_TRUST: {
    what: "A file of the checkout says what only the operator may say, and it does not count there: `skills.trust`, `skills.allowScripts`, `skills.defineTool`, `skills.env`, `fetch.auth`, a server below `mcpServers`, or what loosens a server's rules (`effects: read`, `origin`, `audience`, `reads`, `auth`).",
    why: "Whoever can change the checkout could otherwise run code or get secrets with your rights.",
    mend: "Say it in your own config file (`~/.config/skillflow/config.yml`, outside of the checkout), by flag (`--trust-skill ID`, `--allow-scripts`, `--effect ID.TOOL=read`) or by variable (`SKILLFLOW_TRUST_SKILL`).",
  },
  MODULE_NOT_FOUND: {
    what: "An entry of `skills.modules` leads to no code, so this plug-in is left out.",
    why: "A package that is not installed, a path without `./`, a folder without skill.ts, skill.js or index.js, or a file that is no code.",
    mend: "Install the package where the config file is, or correct the path. Folders of skills in other formats belong in `skills.extraDirs`.",
  },
  SKILLS_FOLDER_NOT_FOUND: {
    what: "A folder that `--skills` or `skills.extraDirs` names does not exist, so no skills come from there.",
    why: "`--skills` is relative to the working directory, `skills.extraDirs` to the config file that says it.",
    mend: "Correct the path, or take it out.",
  },
  VARIABLE_MISSING: {
    what: "A source of `listen.yml` names a variable that is not set, so nothing that it sends could be told from a forgery. `listen` does not begin.",
    why: "The variable holds the secret that signs the source's webhooks, or the token that they bring.",
    mend: "Set the variable in the environment, or name a file that holds it: `skillflow listen --env-from .env`.",
  },
  VARIABLE_REFUSED: {
    what: "A variable is not handed to a skill, because it changes what programs load or run: `PATH`, `LD_PRELOAD`, `NODE_OPTIONS`, `PYTHONPATH` and their like, and every `SKILLFLOW_…`.",
    mend: "Give the skill a variable with another name. Set what programs load in the environment of skillflow itself.",
  },
  SKILL_CONFIG_FORM: {
    what: "The config of a skill that the workflow lists has a value of the wrong form. The skill is unavailable until the value is corrected.",
    why: "A variable holds something else than its skill declares: a word instead of a URL, a path that does not exist, a list without entries.",
    mend: "`skillflow skills show ID` lists the fields of the skill and marks the wrong values.",
  },
  SKILL_NAMED_UNKNOWN: {
    what: "A flag, a variable or a setting names a skill that does not exist: `--trust-skill`, `--skill-env`, `--effect`, `SKILLFLOW_TRUST_SKILL`, `SKILLFLOW_SKILL_ENV` or `skills.disabled`. It has no effect.",
    mend: "Correct the id; `skillflow skills list` shows all of them.",
  },
  SKILL_NOT_TRUSTED: {
    what: "A skill of the checkout would run code or have its server contacted, and nobody has said that it may. Its instructions still reach the model; its tools do not.",
    why: "The skill is new, or one of its files has changed since it was trusted: a yes counts for these files in this place.",
    mend: "Read the skill (`skillflow skills show ID` shows where it is and what it holds). Then allow it with `--trust-skill ID`, `SKILLFLOW_TRUST_SKILL=ID`, or `skills.trust` in your own config file; on a terminal `run` asks. A server that a record defines is trusted only by its digest: `--trust-skill ID@DIGEST`, as the message prints it.",
  },
  SKILL_SHADOWED: {
    what: "Two skills have the same id, and one is used in place of the other.",
    why: "Folders that you name beat the project's, which beat those of your home directory, which beat the built-in skills; what a workflow defines itself beats all of them. A built-in skill keeps its tools.",
    mend: "If that is meant, nothing. Else rename or remove one of them; `skillflow skills show ID` shows which is used.",
  },
  SKILL_TOOLS_LEFT_OUT: {
    what: "A skill has the id of a built-in skill. Its instruction counts; its tools are left out, because the built-in skill keeps its own.",
    mend: "Give a skill with tools of its own an id of its own.",
  },
  INSTALL_TEMPORARY: {
    what: "skillflow runs from a package that `npx` fetched for the moment. Nothing pins which package that is, and it sees your secrets.",
    mend: "Install it from a lockfile (`npm ci`) and run `npx --no-install skillflow`.",
  },
  "secret.not_searched": {
    what: "The value of a secret is not kept out of what is recorded and shown.",
    why: "It has fewer than 8 characters, or it is a word of the workflow: replacing it everywhere would garble ordinary text.",
    mend: "Use a longer, random value. If it is no secret, declare its config field with `secret: false`, or give its variable a name without `TOKEN`, `KEY`, `SECRET` or `PASSWORD`.",
  },
  DESCRIPTOR_SCRIPTS: {
    what: "A tool of a tools.json resolves a parameter with a script (`resolveCommand.script`), and such scripts run only where the operator allows them. Until then nothing is resolved by it.",
    mend: "Read the script, then allow it with `--allow-scripts`, `SKILLFLOW_ALLOW_SCRIPTS=1` or `skills.allowScripts` in your own config file.",
  },
} as const satisfies Partial<Record<DiagnosticCode, Explanation>>;
