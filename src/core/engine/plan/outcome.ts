/** Result of an operation, as `apply` reports it. */
export type ApplyStatus =
  | "applied"
  | "already_applied"
  | "skipped"
  | "refused"
  | "failed"
  | "in_doubt"
  | "not_approved";
