import { COMMITS, fingerprintOf, NEW, WORSE } from "./data.mjs";

/** Returns a model's turns for each of the three runs, as a script. References are those of a new run. */
export function scriptFor(look) {
  const faults = look === 1 ? NEW : look === 3 ? [WORSE] : [];
  return { replies: judged(faults) };
}

const WHY = {
  17: ["It affected few users for weeks. Now it affects 1980.", "searches fail"],
  201: ["It began with release 2.41.0 and affects everyone whose region has no tax rate.", "orders fail at the tax"],
  202: [
    "It began with release 2.41.0, and 1204 customers could not pay.",
    "payments time out while the provider confirms",
  ],
  203: ["Uploads of 5 MB and more are refused since release 2.41.0.", "product images are lost"],
  204: ["Browsers report it by themselves, and no user notices.", null],
  205: ["One client sends text with instructions. None of our code failed.", null],
  206: ["Only four slow thumbnails.", null],
  207: [
    "The amount charged matches no order. A person has to check the accounts.",
    "nine customers paid a wrong amount",
  ],
};

function judged(faults) {
  let ref = 5; // after the two pages of the board, GitHub's list and the board itself
  return faults.flatMap((fault) => {
    const item = fingerprintOf(fault);
    const [why, harm] = WHY[fault.number];
    const sorted = { item, node: "sort", data: { class: fault.class, why, harm } };
    if (fault.class !== "actionable") return [sorted];
    const refs = { event: `r${ref}`, release: `r${ref + 1}` };
    ref += 2;
    return [sorted, ...investigated(item, fault, refs), ...compared(item, fault)];
  });
}

function investigated(item, fault, refs) {
  const { number, file, line, release, name } = fault;
  const commit = { 201: COMMITS[0], 202: COMMITS[1] }[number];
  return [
    {
      ...{ item, node: "investigate", text: "Find where it is thrown and what the release changed." },
      calls: [
        { tool: "sentry_get_latest_event", input: { issue: `SHOP-${number}` } },
        { tool: "sentry_get_release", input: { version: release } },
      ],
    },
    {
      ...{ item, node: "investigate" },
      data: {
        ...{ cause: causeOf(fault), confidence: commit ? "high" : "medium", commit: commit?.id ?? null },
        ...{
          commit_reason: commit
            ? "it changes the frame's file, in the release in which the error began"
            : "none of the release's commits touches the frame's file",
        },
        ...{
          release,
          file,
          line,
          next_step: commit ? `revert ${commit.id.slice(0, 7)}` : `check the callers of ${name}`,
        },
        claims: claimsOf(fault, refs),
      },
    },
  ];
}

function causeOf({ number, name, file, value }) {
  const causes = {
    201: "Rates are looked up by region since 2.41.0, and some regions have none.",
    202: "Since 2.41.0 the shop waits 800 ms for a confirmation that takes longer.",
  };
  return causes[number] ?? `${name} in ${file} fails: ${value}.`;
}

function claimsOf({ number, value }, refs) {
  const { message } = { 201: COMMITS[0], 202: COMMITS[1] }[number] ?? {};
  return [
    { claim: `It is thrown with: ${value}`, evidence: [{ ref: refs.event, quote: value }] },
    ...(message
      ? [{ claim: "The release changed it.", evidence: [{ ref: refs.release, quote: message.split("\n")[0] }] }]
      : []),
  ];
}

function compared(item, fault) {
  const { number, type, file } = fault;
  const isKnown = number === 203;
  const search = { tool: "github_search_issues", input: { query: `${type} ${file}`, state: "open" } };
  const duplicate = isKnown ? "https://github.com/acme/shop/issues/118" : null;
  const why = isKnown ? "The same error at the same location." : "No open issue reports it.";
  const found = { item, node: "duplicates", data: { duplicate, why, action: isKnown ? "leave" : "file" } };
  return [{ item, node: "duplicates", calls: [search] }, found];
}
