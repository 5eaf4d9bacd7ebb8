/** Formats a line for people. `name` is the node's display name. */
export function unroutedText(name: string, edges: number): string {
  return `ended at ${name}: ${edges === 1 ? "its only edge did not apply" : `none of its ${edges} edges applied`}`;
}
