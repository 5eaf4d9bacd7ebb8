/// <reference types="node" preserve="true" />

/** Functions and types that the built-in skills share. They may change with any version. */

export { clip } from "../core/base/preview.ts";
export { isObject, lazy } from "../core/base/values.ts";
export { expandBraces } from "../core/skill/glob.ts";
export * from "./config.ts";
export * from "./fields.ts";
export {
  BYTES_SHOWN,
  callDigest,
  firstOf,
  fitting,
  jsonSize,
  linesFrom,
  markerOf,
  type Patience,
  patiently,
  plainMarkerOf,
  resultSchema,
  retryAfter,
  trim,
  untoldPause,
  withoutMarkers,
} from "./http.ts";
export * from "./job-log.ts";
export * from "./members.ts";
export * from "./pages.ts";
export { causeCode } from "./reason.ts";
export * from "./service.ts";
export * from "./telemetry.ts";
export * from "./tools.ts";
export * from "./traces.ts";
