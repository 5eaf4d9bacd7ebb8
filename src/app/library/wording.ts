import type { OptionName, OptionWriter } from "../../core/base/errors.ts";

/** The options of a program that uses the library, where it has them. */
const OPTIONS: Partial<Record<OptionName, string>> = {
  "allow-changes": "allowChanges",
  from: "from",
  input: "input",
  model: "model",
  "no-cool-down": "coolDown: false",
  set: "config",
  state: "state",
  store: "store",
};

/** `model` NAME, for the library. */
export const asOption: OptionWriter = (option, value) => {
  const name = OPTIONS[option];
  const shown = name === undefined ? `--${option}` : `\`${name}\``;
  return value === undefined ? shown : `${shown} ${value}`;
};
