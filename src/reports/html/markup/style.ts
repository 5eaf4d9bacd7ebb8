/** The report's style sheet: light and dark, phone and paper. One accent; green, amber and red tell states, never alone. */
export const STYLE = `
:root {
  --page: #fcfcfa; --card: #ffffff; --ink: #17191c; --soft: #575e69; --line: #e2e3de; --faint: #f3f3ee;
  --accent: #2f4bb3; --accent-soft: #e9edfa; --ok: #1d7139; --ok-soft: #e3f3e8; --bad: #b0231b; --bad-soft: #fdeae8;
  --mid: #7a560c; --mid-soft: #faf1dc; --bar: #b9c4ea; --bar-call: #2f4bb3; --edge: #6d7480;
  --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
  color-scheme: light dark;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #121416; --card: #191c1f; --ink: #e9eaec; --soft: #a3aab5; --line: #2c3035; --faint: #20242a;
    --accent: #9db4ff; --accent-soft: #1d2540; --ok: #7fd69b; --ok-soft: #17281d; --bad: #ff9d94; --bad-soft: #341d1c;
    --mid: #e6c06c; --mid-soft: #2a2419; --bar: #3a4670; --bar-call: #9db4ff; --edge: #9aa1ad;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem; }
body { margin: 0 auto; max-width: 62rem; padding: 3rem 1.75rem 5rem; background: var(--page); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
h1, h2, h3, h4, h5, p, dl, dd, ul, ol, figure, pre { margin: 0; }
h1 { font-size: clamp(1.55rem, 4.2vw, 2.3rem); line-height: 1.18; letter-spacing: -0.022em; font-weight: 680; text-wrap: balance; max-width: 50rem; }
h2 { font-size: 1.3rem; letter-spacing: -0.014em; font-weight: 660; line-height: 1.3; }
h3 { font-size: 1rem; font-weight: 640; }
h4, h5 { font-size: 0.8rem; font-weight: 600; color: var(--soft); margin-bottom: 0.5rem; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.18em; }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
code, pre, .cites q, .cites mark, .cites del, .cite { font-family: var(--mono); font-size: 0.86em; }
pre code { font-size: inherit; }
pre { padding: 0.75rem 0.9rem; background: var(--faint); border-radius: 8px; white-space: pre-wrap; line-height: 1.5; }
.meta, .nil, .cut { color: var(--soft); font-size: 0.875rem; }
.nil, .cut { font-style: italic; }
.verse { white-space: pre-wrap; }
.scalar { font-variant-numeric: tabular-nums; }
.prose > * + * { margin-top: 0.6rem; }
.prose p { white-space: pre-line; }
.prose ul, .prose ol { padding-left: 1.3rem; }
.prose .depth-1 { margin-left: 1.2rem; } .prose .depth-2 { margin-left: 2.4rem; } .prose .depth-3 { margin-left: 3.6rem; }
mark { background: #ffe9a8; color: #3a2c00; padding: 0 0.1em; border-radius: 2px; }
del { color: var(--soft); }

.head { padding-bottom: 0.5rem; }
.kicker { font-size: 0.9rem; font-weight: 600; color: var(--accent); margin-bottom: 0.9rem; }
.kicker .meta { font-weight: 400; margin-left: 0.5rem; }
.lead { color: var(--soft); margin-top: 0.5rem; max-width: 46rem; }
.three { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 0 2rem; margin-top: 1.75rem; border-top: 1px solid var(--line); }
.three > div { padding-top: 0.8rem; }
.three dt { font-size: 0.82rem; color: var(--soft); margin-bottom: 0.2rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 0.8rem 1.5rem; margin-top: 1.6rem; padding-top: 1.1rem; border-top: 1px solid var(--line); }
.facts dt { font-size: 0.78rem; color: var(--soft); }
.facts dd { font-size: 0.9rem; font-variant-numeric: tabular-nums; line-height: 1.4; }

nav { display: flex; flex-wrap: wrap; gap: 0.2rem 1.4rem; padding: 1.1rem 0 0; font-size: 0.92rem; }
nav a { color: var(--soft); text-decoration: none; padding: 0.15rem 0; }
nav a:hover { color: var(--ink); text-decoration: underline; }
main > section { margin-top: 3.25rem; }
main > section:first-child { margin-top: 2rem; }
main > section > h2 { margin-bottom: 1rem; }
main > section > h2:has(+ .note) { margin-bottom: 0.1rem; }
.note { color: var(--soft); margin-bottom: 1rem; }

.badge { display: inline-block; flex: none; padding: 0.05rem 0.55rem; border-radius: 99px; font-size: 0.8rem; font-weight: 600; line-height: 1.55;
  white-space: nowrap; color: var(--soft); background: var(--faint); }
.badge.success, .badge.succeeded { color: var(--ok); background: var(--ok-soft); }
.badge.failed { color: var(--bad); background: var(--bad-soft); }
.badge.skipped, .badge.stopped, .badge.interrupted, .badge.degraded { color: var(--mid); background: var(--mid-soft); }
.badge.active, .badge.running { color: var(--accent); background: var(--accent-soft); }
.dot { display: inline-grid; place-items: center; flex: none; width: 1.75rem; height: 1.75rem; border-radius: 50%; font-size: 0.78rem;
  font-weight: 650; font-variant-numeric: tabular-nums; text-decoration: none; color: var(--soft); background: var(--faint); }
.dot.success { color: var(--ok); background: var(--ok-soft); }
.dot.failed { color: var(--bad); background: var(--bad-soft); }
.dot.skipped, .dot.stopped, .dot.degraded { color: var(--mid); background: var(--mid-soft); }
.dot.active { color: var(--accent); background: var(--accent-soft); }

.callout { padding: 1rem 1.2rem; border-radius: 10px; background: var(--mid-soft); margin-top: 1.4rem; }
.callout > * + * { margin-top: 0.5rem; }
.callout.failed { background: var(--bad-soft); }
.callout.waiting { background: var(--accent-soft); }
.callout.info { background: var(--accent-soft); margin: 0 0 1rem; }
.complaint { padding: 0.65rem 0.9rem; border-radius: 8px; margin-top: 0.7rem; background: var(--faint); }
.complaint.failed { color: var(--bad); background: var(--bad-soft); }
.complaint.skipped, .complaint.degraded { color: var(--mid); background: var(--mid-soft); }

.first-step { padding: 1.1rem 1.3rem; border-radius: 12px; background: var(--accent-soft); margin-bottom: 1.5rem; }
.first-step h3 { font-size: 0.85rem; color: var(--accent); margin-bottom: 0.25rem; }
.first-step p { font-size: 1.08rem; line-height: 1.5; }
.finding > .member > dd { max-width: 44rem; }
.severity { font-weight: 680; }
.where { margin-top: 0.25rem; color: var(--soft); font-size: 0.92rem; }
.where code { color: var(--ink); }
.did { display: grid; gap: 1.25rem 2.5rem; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); margin-top: 1.8rem; }
.deeds h3 { display: flex; align-items: center; gap: 0.5rem; padding-bottom: 0.4rem; border-bottom: 2px solid var(--line); margin-bottom: 0.5rem; }
.deeds.done h3 { border-color: var(--ok); } .deeds.waiting h3 { border-color: var(--accent); } .deeds.undone h3 { border-color: var(--mid); }
.deeds ul { list-style: none; padding: 0; }
.deeds li + li { margin-top: 0.6rem; }
.deeds li { line-height: 1.45; }
.deeds a { color: inherit; text-decoration-color: var(--line); }
.deeds a:hover { text-decoration-color: currentColor; }
.because { display: block; color: var(--soft); font-size: 0.9rem; }

.claims { list-style: none; padding: 0; counter-reset: claim; }
.claims > li { counter-increment: claim; display: grid; grid-template-columns: 2rem minmax(0, 1fr); padding: 0.9rem 0; border-top: 1px solid var(--line); }
.claims > li::before { content: counter(claim); color: var(--soft); font-size: 0.85rem; font-variant-numeric: tabular-nums; line-height: 1.9; }
.claims > li > * { grid-column: 2; }
.claims > li > .claim { grid-row: 1; }
.claim { max-width: 46rem; }
.cites { list-style: none; margin: 0.35rem 0 0; padding: 0; }
.cites li { display: flex; gap: 0.7rem; align-items: baseline; font-size: 0.95rem; line-height: 1.5; }
.cites li + li { margin-top: 0.2rem; }
.cites q { color: var(--soft); }
.cite { flex: none; font-weight: 600; }

.kv { display: grid; gap: 0.55rem 1.5rem; grid-template-columns: minmax(6.5rem, max-content) minmax(0, 1fr); }
.member { display: contents; }
.kv dt { color: var(--soft); font-size: 0.92rem; max-width: 14rem; line-height: 1.7; }
.kv dd > .kv dt { font-size: 0.88rem; }
.list .kv { grid-template-columns: max-content minmax(0, 1fr); gap: 0.1rem 0.8rem; }
.list { padding-left: 1.1rem; }
.list li + li { margin-top: 0.3rem; }
.list li::marker { color: var(--soft); }
dd > .list, td .list { padding-left: 1rem; }
.records { width: 100%; border-collapse: collapse; font-size: 0.94rem; }
.records th { text-align: start; font-weight: 500; font-size: 0.85rem; color: var(--soft); padding: 0 1rem 0.35rem 0; border-bottom: 1px solid var(--line); }
.records td { vertical-align: top; padding: 0.5rem 1rem 0.5rem 0; border-bottom: 1px solid var(--line); }
.records:not(.figures) td { min-width: 6.5rem; }
.records tr:last-child td { border-bottom: 0; }
.records th:last-child, .records td:last-child { padding-inline-end: 0; }
.figures { font-variant-numeric: tabular-nums; }
.figures th:not(:first-child), .figures td:not(:first-child) { text-align: end; }
.figures td:nth-child(7) { white-space: nowrap; }
meter { width: 4rem; height: 0.5rem; vertical-align: middle; margin-inline-start: 0.4rem; appearance: none; background: var(--faint); border: 0; border-radius: 4px; overflow: hidden; }
meter::-webkit-meter-inner-element { display: block; }
meter::-webkit-meter-bar { background: var(--faint); border: 0; border-radius: 4px; height: 0.5rem; }
meter::-webkit-meter-optimum-value { background: var(--bar-call); border-radius: 4px; }
meter::-moz-meter-bar { background: var(--bar-call); }

.legend { display: flex; flex-wrap: wrap; gap: 0.3rem 1.4rem; font-size: 0.85rem; color: var(--soft); margin-bottom: 0.9rem; }
.legend i { display: inline-block; width: 1.3rem; height: 0.5rem; border-radius: 2px; margin-inline-end: 0.45rem; vertical-align: middle; }
i.model { background: var(--bar); } i.call { background: var(--bar-call); } i.bad { background: var(--bad); }
.axis { display: flex; justify-content: space-between; margin-left: calc(2.5rem + 16rem); font-size: 0.75rem; color: var(--soft); font-variant-numeric: tabular-nums;
  border-bottom: 1px solid var(--line); padding-bottom: 0.2rem; }
.way { list-style: none; padding: 0; }
.way > li { display: grid; grid-template-columns: 2.5rem 16rem minmax(0, 1fr); align-items: center; padding: 0.55rem 0; border-bottom: 1px solid var(--line);
  content-visibility: auto; contain-intrinsic-size: auto 3.6rem; }
.way .what p { color: var(--soft); font-size: 0.875rem; }
.way .what { padding-inline-end: 1rem; line-height: 1.35; }
.way .name { color: var(--ink); font-weight: 600; text-decoration: none; }
.way .name:hover { text-decoration: underline; }
.way .why { grid-column: 2 / -1; font-size: 0.92rem; margin-top: 0.2rem; max-width: 44rem; }
.track { position: relative; display: block; height: 1.5rem; background: linear-gradient(to right, var(--line) 1px, transparent 1px) 0 0 / 25% 100%; }
.track i { position: absolute; top: 0.5rem; height: 0.5rem; border-radius: 2px; }
.track i.visit { top: 0.2rem; height: 1.1rem; background: var(--faint); border-radius: 4px; box-shadow: inset 0 0 0 1px var(--line); }
.track i.call { top: 0.75rem; height: 0.35rem; } .track i.model { top: 0.4rem; height: 0.3rem; }
.way > .failed .track i.visit { background: var(--bad-soft); } .way > .degraded .track i.visit { background: var(--mid-soft); }
.lanes { position: relative; margin-bottom: 1rem; background: linear-gradient(to right, var(--line) 1px, transparent 1px) 0 0 / 25% 100%; border-inline-end: 1px solid var(--line); }
.lanes i { position: absolute; height: 0.45rem; border-radius: 2px; }
.n0 { top: 0.1rem; } .n1 { top: 0.8rem; } .n2 { top: 1.5rem; } .n3 { top: 2.2rem; } .n4 { top: 2.9rem; } .n5 { top: 3.6rem; } .n6 { top: 4.3rem; } .n7 { top: 5rem; } .n8 { top: 5.7rem; }
.h1 { height: 0.7rem; } .h2 { height: 1.4rem; } .h3 { height: 2.1rem; } .h4 { height: 2.8rem; } .h5 { height: 3.5rem; } .h6 { height: 4.2rem; } .h7 { height: 4.9rem; } .h8 { height: 5.6rem; } .h9 { height: 6.3rem; }
.drawing { margin-top: 1.75rem; overflow-x: auto; }
.drawing figcaption { color: var(--soft); font-size: 0.85rem; text-align: center; margin-top: 0.6rem; }
.graph { display: block; max-width: 100%; height: auto; margin: 0 auto; }
.graph text { fill: var(--ink); }
.graph .edge text { fill: var(--soft); }
.graph .edge path { stroke: var(--line); }
.graph .edge polygon { stroke: var(--line); fill: var(--line); }
.graph .edge.open path { stroke: color-mix(in srgb, var(--edge) 55%, transparent); }
.graph .edge.open polygon { stroke: none; fill: color-mix(in srgb, var(--edge) 55%, transparent); }
.graph .edge.followed path { stroke: var(--accent); }
.graph .edge.followed polygon { stroke: var(--accent); fill: var(--accent); }
.graph .node path { fill: var(--faint); stroke: var(--line); }
.graph .node.success path { fill: var(--ok-soft); stroke: var(--ok); }
.graph .node.failed path { fill: var(--bad-soft); stroke: var(--bad); }
.graph .node.skipped path, .graph .node.degraded path { fill: var(--mid-soft); stroke: var(--mid); }
.graph .node.unvisited path { stroke: color-mix(in srgb, var(--edge) 55%, transparent); }
.graph .node.unvisited text { fill: var(--soft); }

.operation { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.4rem; scroll-margin-top: 1rem;
  content-visibility: auto; contain-intrinsic-size: auto 24rem; }
.operation + .operation { margin-top: 1rem; }
.operation > header { display: flex; flex-wrap: wrap; gap: 0.3rem 0.75rem; align-items: baseline; }
.operation > header h3 { font-family: var(--mono); font-size: 0.95rem; }
.operation > header p { flex: 1 1 16rem; font-weight: 600; }
.operation .input { margin: 0.9rem 0; }
.operation .input h4 { margin: 0.8rem 0 0.4rem; font-family: var(--mono); }
.operation .input pre { max-height: none; border: 1px solid var(--line); }
.operation .kv { font-size: 0.92rem; }
.visit { background: var(--card); border: 1px solid var(--line); border-radius: 12px; content-visibility: auto; contain-intrinsic-size: auto 4.2rem; }
.visit + .visit { margin-top: 0.6rem; }
.visit > summary { display: grid; grid-template-columns: auto minmax(0, max-content) minmax(max-content, 1fr) auto; gap: 0 0.9rem; align-items: center; padding: 0.8rem 1.1rem; cursor: pointer; list-style: none; border-radius: 12px; }
.visit > summary::-webkit-details-marker, .call > summary::-webkit-details-marker { display: none; }
.visit > summary::after { content: ""; width: 0.5rem; height: 0.5rem; grid-column: 4; grid-row: 1 / span 2; border: solid var(--soft); border-width: 0 1.5px 1.5px 0; transform: rotate(45deg); }
.visit[open] > summary::after { transform: rotate(-135deg); }
.visit > summary:hover, .call > summary:hover, .fold > summary:hover { background: var(--faint); }
.visit > summary > .dot { grid-row: 1 / span 2; }
.visit > summary > .badge { justify-self: start; }
.visit > summary > .meta { grid-column: 2 / 4; grid-row: 2; }
.inside { padding: 0.3rem 1.4rem 1.4rem; scroll-margin-top: 6rem; }
.exchange { scroll-margin-top: 4rem; }
:target { outline: 2px solid var(--accent); outline-offset: -2px; border-radius: 8px; }
main > section:target { outline: 0; }
.inner > .visit, .inner details.fold > .visit, .item > .inside > .visit { background: var(--ground, var(--card)); }
.inner details.fold > .visit { margin-top: 0.6rem; }
.item > summary, .item > .line { display: flex; flex-wrap: wrap; gap: 0.2rem 0.7rem; align-items: center; padding: 0.55rem 1rem; }
.item > summary > .dot, .item > .line > .dot { width: 0.7rem; height: 0.7rem; }
.item > summary > .meta { flex: 1; min-width: 12rem; }
.item h3 { font-size: 0.95rem; }
.way > li > .within { grid-column: 2 / -1; margin-top: 0.4rem; }
.within .way > li { padding: 0.3rem 0; }
.within .dot:empty { width: 0.7rem; height: 0.7rem; }
.part { margin-top: 1.4rem; }
.part:first-child { margin-top: 0.5rem; }
.checks { list-style: none; padding: 0; }
.checks li { display: grid; grid-template-columns: minmax(3.4rem, max-content) minmax(0, 1fr); gap: 0.7rem; align-items: baseline; }
.checks li + li { margin-top: 0.6rem; }
.checks .badge { justify-self: start; }
.turns { list-style: none; padding: 0 0 0 1.2rem; border-inline-start: 2px solid var(--line); }
.turns > li + li { margin-top: 1.2rem; }
.turns > li { position: relative; }
.turns > li::before { content: ""; position: absolute; inset-inline-start: calc(-1.2rem - 5px); top: 0.5rem; width: 8px; height: 8px; border-radius: 50%; background: var(--bar-call); }
.turns > .note::before { background: var(--mid); }
.turns > .note { display: flex; gap: 0.7rem; align-items: baseline; margin-bottom: 0; }
.asked .meta { margin-inline-start: 0.4rem; }
.reply { margin-top: 0.4rem; }
.calls { border: 1px solid var(--line); border-radius: 8px; overflow: hidden; margin-top: 0.5rem; }
.call + .call { border-top: 1px solid var(--line); }
.call > summary { display: grid; grid-template-columns: 1.9rem max-content minmax(0, 1fr) auto auto; gap: 0.65rem; align-items: center; padding: 0.5rem 0.8rem;
  cursor: pointer; list-style: none; }
.call > summary .number { color: var(--soft); font: 0.82rem var(--mono); }
.call > summary code { font-weight: 600; white-space: normal; }
.call .gist { font: 0.82rem/1.5 var(--mono); color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.call > summary .meta { grid-column: 5; white-space: nowrap; }
.call > summary .badge { grid-column: 4; }
.call[open] > summary { border-bottom: 1px solid var(--line); }
.exchange { padding: 0.9rem 1rem 1.1rem; }
.exchange h5:not(:first-child) { margin-top: 1.1rem; }
.exchange .complaint { margin: 0; }
.fold > summary { cursor: pointer; color: var(--soft); font-size: 0.92rem; border-radius: 6px; padding: 0.15rem 0.3rem; margin-inline-start: -0.3rem; }
.fold > summary + * { margin-top: 0.5rem; }
.fold.prompt h5 { margin-top: 0.8rem; }
.audit { border-top: 1px solid var(--line); }
.audit:last-of-type { border-bottom: 1px solid var(--line); }
.audit > summary { padding: 0.65rem 0.3rem; color: var(--ink); font-size: 1rem; }
.audit > summary + div { padding: 0.2rem 0.3rem 1.2rem; }
.audit ~ .meta { margin-top: 1rem; }
.ledgers { max-height: 36rem; overflow: auto; background: var(--faint); border-radius: 8px; }
.ledger { padding: 0.2rem 0.9rem; white-space: pre; background: none; font-size: 0.76rem; content-visibility: auto; contain-intrinsic-size: auto 290rem; }
.onward { margin-top: 1.4rem; padding-top: 0.85rem; border-top: 1px solid var(--line); color: var(--soft); }
.onward strong { color: var(--ink); font-weight: 600; }
.colophon { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: 0.87rem; }

@media screen and (max-width: 46rem) {
  body { padding: 1.6rem 1.1rem 3rem; }
  .three { grid-template-columns: minmax(0, 1fr); }
  .three > div { display: grid; grid-template-columns: 7.5rem minmax(0, 1fr); padding-top: 0.6rem; }
  .three dt { margin: 0; line-height: 1.8; }
  .kicker .meta { display: block; margin: 0; }
  .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .operation { padding: 1rem; }
  .inside { padding: 0.2rem 1rem 1.1rem; }
  .kv { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .kv dt { max-width: none; font-size: 0.84rem; margin-top: 0.7rem; }
  .list .kv { grid-template-columns: minmax(0, 1fr); }
  .list .kv dt { margin-top: 0.2rem; }
  .member:first-child > dt { margin-top: 0; }
  .member.wide > dd { margin-top: 0.2rem; padding-inline-start: 0.8rem; border-inline-start: 2px solid var(--line); }
  .claims > li { grid-template-columns: minmax(0, 1fr); }
  .claims > li::before { display: none; }
  .claims > li > * { grid-column: 1; }
  .cites li { flex-direction: column; gap: 0; }
  .axis { margin-left: 0; }
  .way > li { grid-template-columns: 2.4rem minmax(0, 1fr); }
  .way .track { grid-column: 1 / -1; margin-top: 0.3rem; }
  .way .why { grid-column: 1 / -1; }
  .records thead { position: absolute; clip-path: inset(50%); }
  .records, .records tbody, .records tr, .records td { display: block; }
  .records td { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: 0.6rem; border: 0; padding: 0.2rem 0; text-align: start !important; }
  .records td::before { content: attr(data-label); color: var(--soft); font-size: 0.84rem; }
  .records tr + tr { border-top: 1px solid var(--line); margin-top: 0.6rem; padding-top: 0.6rem; }
  .call > summary { grid-template-columns: 1.9rem minmax(0, 1fr) auto; gap: 0.2rem 0.55rem; padding: 0.55rem 0.7rem; }
  .call .gist { grid-column: 2 / -1; grid-row: 2; }
  .call > summary .badge { grid-column: 3; grid-row: 1; }
  .call > summary .meta { grid-column: 2 / -1; grid-row: 3; }
  .checks li { grid-template-columns: minmax(0, 1fr); gap: 0.2rem; }
  .turns { padding-inline-start: 0.8rem; }
  .turns > li::before { inset-inline-start: calc(-0.8rem - 5px); }
}
@media print {
  :root { --page: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #ccc; --faint: #f4f4f4; --accent: #1e3a8a; --accent-soft: #f1f3fb;
    --ok: #14532d; --ok-soft: #fff; --bad: #7f1d1d; --bad-soft: #fff; --mid: #5c3d00; --mid-soft: #fff; --bar: #c7cfe9; --bar-call: #1e3a8a; --edge: #444; }
  @page { margin: 12mm 15mm; }
  html { font-size: 8.4pt; }
  h1 { font-size: 1.8rem; max-width: none; }
  body { max-width: none; padding: 0; line-height: 1.36; }
  nav { display: none; }
  main > section { margin-top: 0.9rem; }
  .first-step { padding: 0.6rem 0.9rem; margin-bottom: 0.9rem; }
  .claims > li { padding: 0.25rem 0; }
  .facts { margin-top: 0.9rem; padding-top: 0.6rem; grid-template-columns: repeat(6, auto); }
  .did { margin-top: 1rem; }
  #evidence + section, #finding + section:not(#evidence) { break-before: page; }
  .badge, .dot, .callout, .complaint, .first-step { border: 1px solid currentColor; }
  .first-step { border-color: var(--line); }
  .badge, .dot, i { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .way > li, .visit, .operation, .ledger { content-visibility: visible; }
  .input::details-content { content-visibility: visible; display: block; height: auto; }
  .ledgers { max-height: none; }
  .visit > summary, .call > summary, .records tr, .checks li, .way > li, .claims > li { break-inside: avoid; }
  h2, h3, h4 { break-after: avoid; }
}
`;
