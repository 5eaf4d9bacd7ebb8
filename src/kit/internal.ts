/// <reference types="node" preserve="true" />

/** Functions and types that the built-in skills share. They may change with any version. */

export { clip } from "../core/base/preview.ts";
export { isObject, lazy } from "../core/base/values.ts";
export { expandBraces } from "../core/skill/glob.ts";
export { required, secret, setting, variables } from "./config.ts";

export { lenient, textLike } from "./fields.ts";
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
export { endOfStream, JOB_LOG_RESULT, type JobLogInput, jobLogInput, jobLogShape, readJobLog } from "./job-log.ts";
export { each, memberAt, mentions, pick } from "./members.ts";
export { wholePages } from "./pages.ts";
export { causeCode } from "./reason.ts";
export {
  type Ask,
  type Asking,
  authorization,
  grafanaHeaders,
  keyOf,
  limitAdvice,
  type Refusal,
  requiredKey,
  type Service,
  ServiceFault,
  serviceUrl,
  withService,
} from "./service.ts";
export {
  type GivenPeriod,
  highestFirst,
  isoField,
  isoPeriod,
  isoTime,
  lastHour,
  lastLines,
  lengthOf,
  limitOf,
  momentOf,
  type Period,
  type Point,
  periodOf,
  rounded,
  type SeriesSummary,
  seriesSummary,
  summarise,
  timeField,
} from "./telemetry.ts";
export { LASTING, probeWith, RANGE, SNAPSHOT, TEAM_RANGE, TEAM_SNAPSHOT, toolsWith, WRITE_ONCE } from "./tools.ts";
export { describeTrace, type TraceSpan, traceShape } from "./traces.ts";
