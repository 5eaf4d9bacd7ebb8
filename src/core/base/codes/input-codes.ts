import type { DiagnosticCode } from "../diagnostic.ts";
import type { Explanation } from "./explanation.ts";

/** Findings about the input of a run and the files and addresses that it and the workflow name. */
export const INPUT_CODES = {
  INPUT_TYPE: {
    what: "The input of the run is no JSON object.",
    why: "A list, a text or `null` was given with `--input`.",
    mend: 'Give an object: `--input \'{"service": "checkout"}\'`, `--input @FILE`, or single fields with `-i service=checkout`.',
  },
  INPUT_MISSING: {
    what: "The workflow declares this input as `required`, and it was not given. `null` counts as not given.",
    mend: "Give it with `--input` or `-i NAME=VALUE`; or drop `required` and give it a `default` in the workflow's `inputs`.",
  },
  INPUT_INVALID: {
    what: "An input is not of the type, or none of the values, that the workflow's `inputs` declares.",
    why: "A number or a boolean in quotes within `--input`, or one text where a list of texts (`string[]`) is declared.",
    mend: "Give a value that fits. `-i NAME=VALUE` reads the value as the declared type; of a `string[]` it takes commas or is repeated.",
  },
  INPUT_UNKNOWN: {
    what: "The input has a field that the workflow does not declare. It is a warning: the field reaches the run as it is.",
    why: "A typing error, or an input that was renamed. Only workflows with `inputs` are checked; `dryRun`, `rules` and `context` are always known.",
    mend: "Correct the name, or declare the field in `inputs`.",
  },
  SOURCE_INVALID_SHAPE: {
    what: "An instruction, a rule or a piece of context is not in a form that is known.",
    why: "Two of `inline`, `file` and `url` in one entry, another key beside them, or an empty text.",
    mend: "Write a text, a path that begins with `./`, `../` or `/`, an `https://` address, or one of `{inline: …}`, `{file: …}` and `{url: …}`.",
    example: {
      wrong: "context:\n  - { file: ./runbook.md, inline: Our runbook }",
      right: "context:\n  - { file: ./runbook.md }",
    },
  },
  SOURCE_INVALID_TYPE: {
    what: "An address has a `type` other than `fetch`, the only one there is.",
    mend: "Leave `type` out.",
    example: {
      wrong: "context:\n  - { url: https://example.com/runbook.md, type: git }",
      right: "context:\n  - { url: https://example.com/runbook.md }",
    },
  },
  SOURCE_FILE_NOT_FOUND: {
    what: "There is no file at the path that an instruction, a rule or a piece of context names.",
    why: "Paths of a workflow start in the workflow's folder, not where the program is run. Text that begins with `./` or `../` is taken for a path.",
    mend: "Correct the path. Write text that begins like a path as `{inline: …}`.",
    example: {
      wrong: "rules:\n  - ./runbok.md",
      right: "rules:\n  - ./runbook.md",
    },
  },
  SOURCE_FILE_READ_FAILED: {
    what: "A file that the workflow or the input names cannot be read as text: it is a folder, not UTF-8, larger than 5 MiB, or not readable for this user.",
    mend: "Name a text file, and check its permissions. Of a large file, name the part that the model needs.",
  },
  SOURCE_FILE_OUTSIDE_ROOT: {
    what: "A file lies outside of the folder that files may be read from: the workflow's repository, else the workflow's own folder; for files that the input names, the working directory. Links are followed before that is checked. The input, moreover, may name nothing by `..` or by a name that begins with a dot.",
    why: "A path to another repository, or text that begins with `/` and is taken for a path.",
    mend: "Move the file inside, or name another folder with `--file-root DIR`; `--file-root /` lifts the rule. Write text that begins like a path as `{inline: …}`.",
    example: {
      wrong: "rules:\n  - /healthz is no evidence.",
      right: "rules:\n  - { inline: /healthz is no evidence. }",
    },
  },
  SOURCE_OFFLINE_REQUIRES_FETCH: {
    what: "An address would have to be fetched, and the run is `--offline`.",
    mend: "Run without `--offline`, or keep a copy as a file and name that.",
  },
  SOURCE_URL_AUTH_REQUIRED: {
    what: "The address answered 401 or 403, or the token for its host cannot be sent: it holds blanks or line breaks.",
    why: "No token is set up for this host, or the token has expired or may not read this.",
    mend: "Map the host to the variable that holds its token, in your own config file (`~/.config/skillflow/config.yml`): `fetch: {auth: {HOST: VARIABLE}}`. In the project's file it does not count.",
  },
  SOURCE_URL_BLOCKED: {
    what: "The address is not fetched: it is private, local or a metadata service, neither http nor https, or carries a user name or password. Each redirect is checked too.",
    why: "What a stranger can write into a workflow's reach must not read your internal network.",
    mend: "Use a public address, or keep a copy as a file.",
  },
  SOURCE_URL_HTTP_ERROR: {
    what: "The address answered with an error, redirected more than 5 times, or sent compressed data that was not asked for.",
    mend: "Open the address to see what it answers; give the address where redirects end.",
  },
  SOURCE_URL_TOO_LARGE: {
    what: "The address gave more than 5 MiB.",
    mend: "Point to the part that the model needs, or keep that part as a file.",
  },
  SOURCE_URL_UNREACHABLE: {
    what: "The address gave no whole answer: its name has no address, the connection failed, or time ran out.",
    mend: "Check the address and the network of this machine (it is asked directly, not through a proxy), or keep a copy as a file.",
  },
} as const satisfies Partial<Record<DiagnosticCode, Explanation>>;
