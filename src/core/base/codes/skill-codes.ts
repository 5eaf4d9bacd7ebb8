import type { DiagnosticCode } from "../diagnostic.ts";
import type { Explanation } from "./explanation.ts";

/** Findings about a skill's folder and its SKILL.md; most of them come from `skills lint`. */
export const SKILL_CODES = {
  SKILL_SKIPPED: {
    what: "A skill is left out as a whole: its document or manifest could not be used.",
    why: "A SKILL.md without frontmatter, a name that is no id, an id or tool name that skillflow itself uses, or a link that leads out of the project.",
    mend: "Mend what the message says; `skillflow skills lint PATH` tells all that is wrong with the skill.",
  },
  SKILL_MISSING: {
    what: "The folder has no SKILL.md. The name has to be written exactly so, in capitals.",
    mend: "Add a SKILL.md, or rename the file. `skillflow skills new ID --format FORMAT` begins a skill of any format.",
  },
  SKILL_UNREADABLE: {
    what: "SKILL.md cannot be read: it is no UTF-8, larger than 1 MB, or a link that leads out of the folder.",
    mend: "Save it as UTF-8, and put the file itself in the folder in place of a link.",
  },
  SKILL_FRONTMATTER: {
    what: "SKILL.md has no frontmatter between two lines `---`, the frontmatter is no YAML, or the file begins with a byte-order mark, which Agent Skills and Skill Tools do not allow.",
    why: "Most often a colon within a text: YAML takes it for a key.",
    mend: "Begin the file with `---`, and put quotes round values that hold a colon.",
    example: {
      wrong: "---\nname: word-count\ndescription: Use it when: a text is long.\n---",
      right: '---\nname: word-count\ndescription: "Use it when: a text is long."\n---',
    },
  },
  SKILL_YAML_REPAIRED: {
    what: "The frontmatter of SKILL.md is no YAML, and was read as if the values with a colon stood in quotes. Other programs refuse the skill.",
    mend: 'Put quotes round such values: `description: "Use it when: …"`.',
  },
  SKILL_YAML_FANCY: {
    what: "The frontmatter uses brackets, an anchor or an alias of YAML, which some validators of Agent Skills refuse. A rule for Agent Skills and Skill Tools.",
    mend: "Write lists and maps one entry a line.",
    example: {
      wrong: "---\nname: word-count\ndescription: Counts words.\nmetadata: { owner: docs }\n---",
      right: "---\nname: word-count\ndescription: Counts words.\nmetadata:\n  owner: docs\n---",
    },
  },
  SKILL_KEY_UNKNOWN: {
    what: "The frontmatter has a key that the format does not know: an error in Agent Skills and Skill Tools, else a warning.",
    mend: "Correct the key. What is your own goes below `metadata`.",
    example: {
      wrong: "---\nname: word-count\ndescription: Counts words.\nowner: docs\n---",
      right: "---\nname: word-count\ndescription: Counts words.\nmetadata:\n  owner: docs\n---",
    },
  },
  SKILL_KEY_EXTENSION: {
    what: "A skill of Skill Tools has a key in its frontmatter that is skillflow's own: `category`, `config`, `mcp`, `origins`, `audiences` or `reads`. Validators of Agent Skills refuse it.",
    mend: "Nothing, where only skillflow uses the skill. Else take the key out; say `origin`, `audience` and `reads` at each tool of tools.json.",
  },
  SKILL_KEY_TYPE: {
    what: "A key of the frontmatter has a value of another type than the format asks for: `license`, `compatibility` and `allowed-tools` are texts, `metadata` is a map of texts, `origins`, `audiences` and `reads` are maps by tool. In the Skills Protocol `name` and `short_description` are texts that have to be there, and `tags` is a list of texts.",
    mend: "Write the value as the format has it. Values of `metadata` that are no text are a warning.",
  },
  SKILL_NAME: {
    what: "The `name` of SKILL.md is missing or no id: 1 to 64 of a-z, 0-9 and single hyphens, none at an end.",
    why: "A title was written in place of an id. Such a skill is known by its folder's name; in `.skillflow/skills` and `.sweny/skills` it is skipped.",
    mend: "Use the folder's name as the name.",
    example: {
      wrong: "---\nname: Word Count\ndescription: Counts words.\n---",
      right: "---\nname: word-count\ndescription: Counts words.\n---",
    },
  },
  SKILL_FOLDER_NAME: {
    what: "The skill's `name` differs from the name of its folder. Agent Skills and Skill Tools want the same, and other programs refuse the skill; here the name counts.",
    mend: "Rename the folder, or change `name` and every workflow that lists it.",
  },
  SKILL_DESCRIPTION: {
    what: "The `description` is missing, blank, or longer than 1024 characters; or, as a warning, it holds `<` or `>`, which some validators refuse. A missing one is an error in Agent Skills and Skill Tools.",
    mend: "Say in one or two sentences what the skill does and when to use it: models choose by it.",
  },
  SKILL_COMPATIBILITY: {
    what: "`compatibility` is blank or longer than 500 characters (Agent Skills).",
    mend: "Shorten it, or leave it out.",
  },
  SKILL_CATEGORY: {
    what: "`category` is none that is known; the loader takes the skill for `general`.",
    mend: "Use `git`, `observability`, `tasks`, `notification`, `data` or `general`, or leave it out.",
  },
  SKILL_CONFIG: {
    what: "`config` of SKILL.md is not as it has to be: a map from key to `{description, required?, env?}`. What is no map is left out, so the value never reaches the skill.",
    mend: "Write each field as a map.",
    example: {
      wrong:
        "---\nname: word-count\ndescription: Counts words.\ncategory: general\nconfig:\n  LIMIT: how many words\n---",
      right:
        "---\nname: word-count\ndescription: Counts words.\ncategory: general\nconfig:\n  LIMIT:\n    description: how many words\n---",
    },
  },
  SKILL_MCP: {
    what: "The MCP server of SKILL.md is not as it has to be: it needs either a `command` or an http(s) `url`, and a `type` that fits.",
    mend: "Keep one of them: `command` with `args` for a server that is started here, `url` with `headers` for one that is asked.",
  },
  SKILL_NETWORK: {
    what: "`metadata.network` names what is no host; the loader leaves it out, so code of the skill does not reach it.",
    mend: "Write hosts with spaces between them: `api.example.com`, `*.example.com`, `192.0.2.7`, with a port where it is neither 80 nor 443. No `https://`, no path.",
    example: {
      wrong: "---\nname: word-count\ndescription: Counts words.\nmetadata:\n  network: https://api.example.com/v1\n---",
      right: "---\nname: word-count\ndescription: Counts words.\nmetadata:\n  network: api.example.com\n---",
    },
  },
  SKILL_EMPTY: {
    what: "There is no text below the frontmatter, and no MCP server: the skill has nothing to offer. An error in `sweny`, a warning in Agent Skills.",
    mend: "Write below the frontmatter what a model has to know and do.",
  },
  SKILL_BODY_LONG: {
    what: "The text of SKILL.md has more than 500 lines or about 5000 tokens. A model pays for all of it wherever the skill is read.",
    mend: "Move details into files below `references/` and name them in the text: they are read when they are needed.",
  },
  SKILL_FILE_MISSING: {
    what: "The text of SKILL.md names a file that is not in the folder, so a model that wants to read it fails.",
    mend: "Add the file, or correct the path.",
  },
  SKILL_LINK_OUTSIDE: {
    what: "A link of the file system, or a path in the text of SKILL.md, leads out of the skill's folder or nowhere. It is refused when it is read; a path to a skill beside this one is a warning, because that skill may not be there.",
    mend: "Copy what is needed into the folder.",
  },
  SKILL_SECRET: {
    what: "The folder holds what looks like a key, a token or a private key, or a `.env` file. Whoever gets the skill has it too.",
    mend: "Take it out, revoke it, and read it from an environment variable. Examples belong in `.env.example`.",
  },
  SKILL_TOOL_UNKNOWN: {
    what: "The text of the skill names `{{tool}}`, which is none of its tools. It reaches the model as it is written.",
    mend: "Use the bare name of a tool of this skill. The model sees the name under which it is offered.",
  },
  SKILL_DOCUMENT: {
    what: "The SKILL.md beside a contract or a skill.toml cannot be used. For a contract it is left out; a package of the Skills Protocol needs it, and `short_description` in it.",
    mend: "Mend what the message says. Its frontmatter has to be a YAML map between lines `---`.",
  },
  SKILL_MANIFEST: {
    what: "A contract, a binding or a skill.toml lacks a field or has one that is wrong; as an error it makes the skill unavailable.",
    why: "A version that is no `major.minor.patch`, an `input` that is no JSON Schema of type object, an entry point that is not in the folder, a binding with none or two of `function`, `command`, `tool`, `mcp` and `a2a`.",
    mend: "Mend the field that the message names; `skillflow skills new ID --format FORMAT` writes a whole skill to compare with.",
  },
  SKILL_NOT_IMPORTABLE: {
    what: "Other Python code cannot import this package of the Skills Protocol as `skills.NAME`: a part of its name begins with a digit, or is a keyword of Python.",
    mend: "Rename it if other code is to import it. Calls of the skill itself work as it is.",
  },
} as const satisfies Partial<Record<DiagnosticCode, Explanation>>;
