import type { Json } from "./values.ts";

export interface Redactor {
  text(text: string): string;
  value<Value extends Json>(value: Value): Value;
}
