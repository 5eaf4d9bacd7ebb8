import { boardAt, COMMITS, fingerprintOf, NEW, rowOf, WORSE } from "./data.mjs";

/** Returns a model's turns for each of the three runs, as a script. References are those of a new run. */
export function scriptFor(look) {
  const faults = look === 1 ? NEW : look === 3 ? [WORSE] : [];
  return { replies: [...readBoard(look), ...judged(faults), ...digestOf(look)] };
}

function readBoard(look) {
  const list = { sort: "date", stats_period: "14d", limit: 50 };
  const issues = boardAt(look).map(rowOf);
  return [
    { node: "board", calls: [{ tool: "sentry_list_issues", input: list }] },
    { node: "board", calls: [{ tool: "sentry_list_issues", input: { ...list, cursor: "0:50:0" } }] },
    { node: "board", data: { source: "sentry", issues, left: 0, gaps: [] } },
  ];
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
  let ref = 3; // after the two pages of the board
  return faults.flatMap((fault) => {
    const item = fingerprintOf(fault);
    const [why, harm] = WHY[fault.number];
    const sorted = { item, node: "sort", data: { class: fault.class, why, harm } };
    if (fault.class !== "actionable") return [sorted];
    const refs = { event: `r${ref}`, release: `r${ref + 1}` };
    ref += 2;
    return [sorted, ...investigated(item, fault, refs), ...filed(item, fault, refs)];
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

function filed(item, fault, refs) {
  const { number, type, file } = fault;
  const isKnown = number === 203;
  const search = { tool: "github_search_issues", input: { query: `${type} ${file}`, state: "open" } };
  const duplicate = isKnown ? "https://github.com/acme/shop/issues/118" : null;
  const why = isKnown ? "The same error at the same location." : "No open issue reports it.";
  const found = { item, node: "duplicates", data: { duplicate, why, action: isKnown ? "leave" : "file" } };
  const looked = [{ item, node: "duplicates", calls: [search] }, found];
  if (isKnown) return looked;
  const title = `${type} in ${file}`;
  const body = [
    causeOf(fault),
    ...claimsOf(fault, refs).map(({ claim, evidence }) => `${claim} (${evidence[0].ref})`),
  ].join("\n");
  const filing = { item, node: "file", calls: [{ tool: "github_create_issue", input: { title, body } }] };
  return [
    ...looked,
    filing,
    { item, node: "file", data: { filed: true, link: null, title, claims: claimsOf(fault, refs) } },
  ];
}

function digestOf(look) {
  if (look === 2) {
    const data = {
      verdict: "nothing_new",
      headline: "Nothing new: 60 issues, none changed.",
      lines: [],
      first_step: null,
    };
    return [{ node: "digest", data }];
  }
  const [headline, lines, step] =
    look === 1
      ? [
          "7 new issues: 3 actionable, 1 needs a person, 1 to watch, 2 noise",
          [
            "SHOP-202: payments time out after 800 ms; an issue is planned",
            "SHOP-207: nine customers were charged a wrong amount: a person has to check",
            "SHOP-201: no tax rate for some regions; an issue is planned",
            "SHOP-203: uploads of 5 MB and more fail, known as acme/shop#118",
          ],
          "the person on call for payments reverts c09b7d3",
        ]
      : [
          "1 issue became worse: SHOP-17",
          ["SHOP-17: from few to 1980 users; an issue is planned"],
          "check its callers",
        ];
  return [
    { node: "digest", data: { verdict: "changed", headline, lines, first_step: step } },
    { node: "send", calls: [{ tool: "slack_send_message", input: { text: [headline, ...lines].join("\n") } }] },
    { node: "send", data: { delivered: true, message: headline } },
  ];
}
