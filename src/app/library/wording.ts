import type { OptionName, OptionWriter } from "../../core/base/errors.ts";

/** Library options that correspond to command-line options. */
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

/** Writes an option as library users know it, such as `model` NAME. */
export const asOption: OptionWriter = (option, value) => {
  const name = OPTIONS[option];
  const shown = name === undefined ? `--${option}` : `\`${name}\``;
  return value === undefined ? shown : `${shown} ${value}`;
};
