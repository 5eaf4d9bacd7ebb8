/**
 * Functions that a query may call: they compute from their arguments and read no other data. Types are included
 * (`x::Nullable(String)`), table and dictionary functions are not. All others are refused.
 */
const CALLABLE = new Set(
  `
  abs ceil ceiling floor round truncate trunc sqrt exp log log2 log10 pow power sign greatest least intDiv modulo
  intDivOrZero divide multiply plus minus negate width_bucket roundDown roundBankers

  count countIf sum avg min max any anyLast anyHeavy argMin argMax uniq uniqExact uniqHLL12 uniqCombined median
  quantile quantiles quantileExact quantileTiming quantileTDigest stddevPop stddevSamp varPop varSamp corr
  groupArray groupUniqArray groupArrayLast topK sumMap first_value last_value

  row_number rank dense_rank lag lead lagInFrame leadInFrame ntile

  if multiIf ifNull nullIf coalesce isNull isNotNull assumeNotNull toNullable empty notEmpty not and or xor
  equals notEquals less greater lessOrEquals greaterOrEquals isNaN isFinite

  toString toInt8 toInt16 toInt32 toInt64 toUInt8 toUInt16 toUInt32 toUInt64 toFloat32 toFloat64 toDate toDateTime
  toDateTime64 toBool toUUID toDecimal64 toFixedString toTypeName cast accurateCastOrNull reinterpretAsInt64
  toInt32OrNull toInt64OrNull toUInt32OrNull toUInt64OrNull toFloat64OrNull toInt32OrZero toInt64OrZero
  toUInt32OrZero toUInt64OrZero toFloat64OrZero toDateOrNull toDateTimeOrNull toDateTime64OrNull

  now now64 today yesterday toUnixTimestamp toUnixTimestamp64Milli fromUnixTimestamp fromUnixTimestamp64Milli
  toYear toQuarter toMonth toDayOfMonth toDayOfWeek toDayOfYear toHour toMinute toSecond toStartOfYear
  toStartOfQuarter toStartOfMonth toStartOfWeek toMonday toStartOfDay toStartOfHour toStartOfMinute toStartOfSecond
  toStartOfFiveMinutes toStartOfFiveMinute toStartOfTenMinutes toStartOfFifteenMinutes toStartOfInterval toTimeZone
  date_trunc dateTrunc dateDiff date_diff dateAdd dateSub date_add date_sub addSeconds addMinutes addHours addDays
  addWeeks addMonths subtractSeconds subtractMinutes subtractHours subtractDays subtractWeeks subtractMonths
  toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay toIntervalWeek formatDateTime timeSlot
  parseDateTime parseDateTimeBestEffort parseDateTimeBestEffortOrNull parseDateTime64BestEffort
  parseDateTime64BestEffortOrNull

  length lengthUTF8 char_length lower upper lowerUTF8 upperUTF8 concat concatWithSeparator substring substr
  substringUTF8 mid left right leftPad rightPad trim trimLeft trimRight trimBoth ltrim rtrim reverse replace
  replaceOne replaceAll replaceRegexpOne replaceRegexpAll position positionCaseInsensitive positionUTF8 locate
  startsWith endsWith like ilike notLike match multiMatchAny multiSearchAny multiSearchAnyCaseInsensitive hasToken
  hasTokenCaseInsensitive extract extractAll extractAllGroups extractGroups regexpExtract splitByChar splitByString
  splitByRegexp splitByWhitespace countSubstrings countMatches hex unhex base64Encode base64Decode tryBase64Decode
  MD5 cityHash64 sipHash64 xxHash64 crc32 domain domainWithoutWWW path protocol queryString cutQueryString
  extractURLParameter decodeURLComponent toIPv4 toIPv6 IPv4NumToString IPv6NumToString isIPv4String isIPv6String
  isIPAddressInRange formatReadableSize formatReadableQuantity formatReadableTimeDelta

  JSONHas JSONLength JSONType JSONExtract JSONExtractString JSONExtractInt JSONExtractUInt JSONExtractFloat
  JSONExtractBool JSONExtractRaw JSONExtractArrayRaw JSONExtractKeys JSONExtractKeysAndValues
  JSONExtractKeysAndValuesRaw JSON_VALUE JSON_QUERY JSON_EXISTS isValidJSON simpleJSONExtractString
  simpleJSONExtractInt simpleJSONExtractFloat simpleJSONExtractRaw visitParamExtractString toJSONString

  array arrayJoin arrayMap arrayFilter arrayExists arrayAll arrayCount arraySum arrayAvg arrayMin arrayMax arraySort
  arrayReverseSort arrayDistinct arrayElement arrayFirst arrayLast arraySlice arrayConcat arrayStringConcat
  arrayZip arrayUniq arrayIntersect arrayEnumerate has hasAny hasAll indexOf tuple tupleElement map mapKeys mapValues
  mapContains mapFilter range

  Nullable String Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 Decimal DateTime DateTime64
  FixedString Array Tuple Map LowCardinality
`
    .split(/\s+/)
    .filter((name) => name !== ""),
);

const NAMES = new Set([...CALLABLE].map((name) => name.toLowerCase()));

const AGGREGATES =
  /^(?:count|sum|avg|min|max|any|anyLast|argMin|argMax|uniq|uniqExact|uniqHLL12|uniqCombined|median|quantile|quantiles|quantileExact|quantileTDigest|stddevPop|stddevSamp|groupArray|groupUniqArray|topK|sumMap)(?:If|Array|Merge|OrNull|OrDefault|Distinct){1,3}$/;

export function isCallable(name: string): boolean {
  return NAMES.has(name.toLowerCase()) || AGGREGATES.test(name);
}

export interface Token {
  readonly kind: "word" | "quoted" | "text" | "number" | "symbol";
  readonly text: string;
  readonly start: number;
}

/** Complete list of token patterns. Any other character is refused where it occurs. */
const PATTERNS: readonly (readonly [Token["kind"] | "space", RegExp])[] = [
  ["space", /[ \t\r\n]+/y],
  ["word", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["number", /(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![A-Za-z0-9_.])/y],
  ["text", /'(?:[^'\\\p{Cc}]|\\[^\p{Cc}]|''|[\t\r\n])*'/uy],
  ["quoted", /"[A-Za-z0-9_.@: -]+"|`[A-Za-z0-9_.@: -]+`/y],
  ["symbol", /::|->|<=|>=|!=|<>|==|\|\||[()[\],.+\-*/%<>=]/y],
];

const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/--|\/\*|#/y, "remove comments"],
  [/;/y, "write one statement, without a semicolon"],
  [/[{}@$\\?:]/y, "parameters, variables and ?: are not allowed; write if(…, …, …)"],
  [/["`]/y, "a quoted name may contain only letters, digits, spaces and _ . @ : -"],
  [/'/y, "a string is not closed, or contains a control character"],
];

/** Splits a query into tokens. Throws on anything that a plain query does not have. */
export function tokenise(sql: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < sql.length; ) {
    refuseAt(sql, at);
    const found = matchAt(sql, at);
    if (!found) throw new Error(`The query is refused at ${placeOf(sql, at)}: unexpected character.`);
    if (found.kind !== "space") tokens.push({ kind: found.kind, text: found.text, start: at });
    at += found.text.length;
    // ClickHouse would read two quotes in a row as part of the name.
    if (found.kind === "quoted" && sql[at] === found.text[0]) {
      throw new Error(`The query is refused at ${placeOf(sql, at)}: a quoted name must not contain a quote.`);
    }
  }
  return tokens;
}

/** Describes a place in a query for messages. */
export function placeOf(sql: string, at: number): string {
  const near = sql
    .slice(at, at + 30)
    .replace(/\s+/g, " ")
    .trim();
  return `character ${at + 1}${near === "" ? ", its end" : ` (${near})`}`;
}

function refuseAt(sql: string, at: number): void {
  for (const [pattern, advice] of REFUSALS) {
    const isOpening = /['"`:]/.test(sql[at] ?? "") && matchAt(sql, at) !== undefined;
    if (!isOpening && isAt(pattern, sql, at)) {
      throw new Error(`The query is refused at ${placeOf(sql, at)}: ${advice}.`);
    }
  }
}

function matchAt(sql: string, at: number) {
  for (const [kind, pattern] of PATTERNS) {
    pattern.lastIndex = at;
    const text = pattern.exec(sql)?.[0];
    if (text !== undefined) return { kind, text };
  }
  return undefined;
}

function isAt(pattern: RegExp, sql: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(sql);
}
