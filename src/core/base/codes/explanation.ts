/** What a code means to whoever meets it. Markdown's backticks stand round what is typed as it is. */
export interface Explanation {
  /** What it means; the first sentence stands alone in lists. */
  readonly what: string;
  /** What usually causes it, where that is not plain. */
  readonly why?: string;
  /** What to do. */
  readonly mend: string;
  /** Of what an author writes: a part of a workflow, a SKILL.md or a tools.json. */
  readonly example?: { readonly wrong: string; readonly right: string };
}
