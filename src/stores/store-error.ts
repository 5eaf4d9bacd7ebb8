import { SkillflowError } from "../core/base/errors.ts";

export function storeError(error: unknown, what: string): SkillflowError {
  if (error instanceof SkillflowError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG") {
    return new SkillflowError("store.full", `${what}: the disk is full`, {
      hint: "free some space, then resume the run",
      cause: error,
    });
  }
  return new SkillflowError("store.failed", `${what}: ${message}`, { cause: error });
}

/** Runs the work. Throws its errors as errors of the store. */
export function orStoreError<Value>(what: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    throw storeError(error, what);
  }
}
