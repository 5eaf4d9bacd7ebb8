/** The style of `skillflow ui`, light and dark, and of what it adds to a report. Its names are its own: both stand on one page. */
const TOKENS = `
:root { --ui-page: #f7f7f4; --ui-card: #fff; --ui-ink: #1b1f24; --ui-soft: #5a626d; --ui-line: #e2e3de; --ui-hover: #f1f1ec;
  --ui-link: #2b50a6; --ui-ok: #1c7439; --ui-ok-soft: #e2f3e8; --ui-bad: #b3261e; --ui-bad-soft: #fdeae8; --ui-mid: #7a560b;
  --ui-mid-soft: #faf0d9; --ui-busy: #2b50a6; --ui-busy-soft: #e7edfb;
  --ui-mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
@media (prefers-color-scheme: dark) { :root { --ui-page: #131517; --ui-card: #1a1d20; --ui-ink: #e8e9eb; --ui-soft: #a3aab4;
  --ui-line: #2c3035; --ui-hover: #21252a; --ui-link: #9ab6ff; --ui-ok: #7fd69b; --ui-ok-soft: #17291e; --ui-bad: #ff9d94;
  --ui-bad-soft: #361e1c; --ui-mid: #e6c06c; --ui-mid-soft: #2b2519; --ui-busy: #9ab6ff; --ui-busy-soft: #1b2540; } }
@keyframes ui-pulse { 50% { opacity: 0.35; } }
@media (prefers-reduced-motion: reduce) { .ui-busy-dot { animation: none !important; } }
.ui-busy-dot { display: inline-block; width: 0.6em; height: 0.6em; border-radius: 50%; background: currentColor; animation: ui-pulse 1.6s ease-in-out infinite; }
.ui-state { display: inline-flex; align-items: center; gap: 0.4em; padding: 0.12rem 0.65rem; border-radius: 99px; font-size: 0.8rem; font-weight: 620;
  line-height: 1.6; white-space: nowrap; color: var(--ui-mid); background: var(--ui-mid-soft); }
.ui-state.succeeded { color: var(--ui-ok); background: var(--ui-ok-soft); }
.ui-state.failed { color: var(--ui-bad); background: var(--ui-bad-soft); }
.ui-state.running { color: var(--ui-busy); background: var(--ui-busy-soft); }
`;

export const SITE_STYLE = `${TOKENS}
* { box-sizing: border-box; }
body.site { margin: 0 auto; max-width: 70rem; padding: 2.2rem 1.4rem 4rem; background: var(--ui-page); color: var(--ui-ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
h1, p, ul { margin: 0; padding: 0; }
a { color: var(--ui-link); }
.top { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0.4rem 1.5rem; margin-bottom: 1.3rem; }
.top h1 { font-size: clamp(1.6rem, 4vw, 2.1rem); letter-spacing: -0.02em; font-weight: 660; line-height: 1.2; }
.top p { color: var(--ui-soft); font-size: 0.92rem; }
.top .place { font: 0.85rem/1.4 var(--ui-mono); }
.runs { list-style: none; background: var(--ui-card); border: 1px solid var(--ui-line); border-radius: 14px; overflow: hidden; }
.runs li + li { border-top: 1px solid var(--ui-line); }
.row { display: grid; grid-template-columns: 8.2rem minmax(0, 1fr) 6.4rem 5.5rem 7.5rem; gap: 0.25rem 1.1rem; align-items: center;
  padding: 0.85rem 1.15rem; color: inherit; text-decoration: none; }
a.row:hover { background: var(--ui-hover); }
a.row:focus-visible { outline: 2px solid var(--ui-link); outline-offset: -2px; }
.what { min-width: 0; }
.what b { font-weight: 620; }
.what .id { display: block; font: 0.8rem/1.45 var(--ui-mono); color: var(--ui-soft); }
.chip { display: inline-block; margin-left: 0.5rem; padding: 0 0.5rem; border-radius: 6px; font-size: 0.78rem; line-height: 1.55; vertical-align: 0.08em;
  border: 1px solid var(--ui-line); color: var(--ui-soft); }
.chip.verdict { color: var(--ui-ink); font-weight: 600; }
.chip.degraded { color: var(--ui-mid); border-color: transparent; background: var(--ui-mid-soft); }
.fact { color: var(--ui-soft); font-size: 0.88rem; font-variant-numeric: tabular-nums; }
.fact.end { text-align: right; }
.fact strong { display: block; color: var(--ui-ink); font-weight: 560; }
.label { display: none; }
.pages { display: flex; justify-content: space-between; gap: 1rem; margin-top: 1rem; color: var(--ui-soft); font-size: 0.92rem; }
.word { display: grid; gap: 1.1rem; max-width: 42rem; margin: 0 auto; padding: 1.6rem; border: 1px solid var(--ui-line); border-radius: 14px; background: var(--ui-card); }
.word p { margin: 0; overflow-wrap: anywhere; } .word .ask { font-size: 1.2rem; font-weight: 600; white-space: pre-wrap; } .word .of { color: var(--ui-soft); font-size: 0.92rem; }
.word pre { overflow: auto; max-height: 24rem; margin: 0.5rem 0 0; padding: 0.8rem 1rem; border-radius: 10px; background: var(--ui-page); font: 0.85rem/1.5 var(--ui-mono); }
.word form { display: grid; gap: 1.1rem; } .word label { display: grid; gap: 0.35rem; color: var(--ui-soft); font-size: 0.92rem; }
.word input, .word button { font: inherit; padding: 0.7rem 1rem; border: 1px solid var(--ui-line); border-radius: 10px; background: var(--ui-page); color: var(--ui-ink); }
.word .say { display: flex; gap: 0.8rem; } .word button { flex: 1; border-color: currentColor; font-weight: 620; cursor: pointer; }
.word button[value="approve"] { color: var(--ui-ok); background: var(--ui-ok-soft); } .word button[value="deny"] { color: var(--ui-bad); background: var(--ui-bad-soft); }
.word :focus-visible { outline: 2px solid var(--ui-link); outline-offset: 2px; }
.empty { padding: 3rem 1.5rem; text-align: center; color: var(--ui-soft); }
.empty code { font-family: var(--ui-mono); color: var(--ui-ink); }
.problem { max-width: 34rem; margin: 16vh auto 0; text-align: center; }
.problem .mark { font-size: 2rem; color: var(--ui-bad); }
.problem h1 { font-size: 1.5rem; margin-bottom: 0.6rem; }
.problem p { color: var(--ui-soft); }
@media (max-width: 46rem) {
  body.site { padding: 1.4rem 0.9rem 3rem; }
  .row { grid-template-columns: 1fr auto; padding: 0.9rem 1rem; }
  .what { grid-column: 1 / -1; grid-row: 2; }
  .fact { grid-row: 3; }
  .fact.when { grid-column: 1; }
  .fact.took { grid-row: 1; grid-column: 2; text-align: right; }
  .fact.spent { grid-column: 2; }
  .fact strong { display: inline; }
  .chip { margin: 0.15rem 0.4rem 0.15rem 0; }
  .what b { display: block; }
}
`;

export const LIVE_STYLE = `${TOKENS}
.ui-back { display: block; margin: 0 0 1.2rem; font-size: 0.92rem; }
.ui-live { position: sticky; top: 0; z-index: 5; margin: 0 -0.4rem 1.6rem; padding: 0.8rem 1.05rem; border: 1px solid var(--ui-line); border-radius: 12px;
  background: var(--ui-card); color: var(--ui-ink); box-shadow: 0 6px 24px rgb(0 0 0 / 0.08); font-size: 0.95rem; }
.ui-live .now { display: flex; flex-wrap: wrap; align-items: center; gap: 0.35rem 0.8rem; }
.ui-live .doing { font-weight: 560; flex: 1 1 14rem; min-width: 0; }
.ui-live .spent { color: var(--ui-soft); font-size: 0.87rem; font-variant-numeric: tabular-nums; }
.ui-live ol { list-style: none; margin: 0.6rem 0 0; padding: 0.5rem 0 0; border-top: 1px solid var(--ui-line); font: 0.82rem/1.6 var(--ui-mono);
  color: var(--ui-soft); max-height: calc(8em + 0.5rem); overflow: hidden; }
.ui-live ol:empty { display: none; }
.ui-live li { display: block; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.ui-live li.good { color: var(--ui-ok); } .ui-live li.bad { color: var(--ui-bad); } .ui-live li.node { color: var(--ui-ink); font-weight: 600; }
.ui-live:not([data-running]) { position: static; box-shadow: none; }
.ui-live[data-running] ~ * .badge.interrupted { font-size: 0; color: var(--ui-busy); background: var(--ui-busy-soft); }
.ui-live[data-running] ~ * .badge.interrupted::after { content: "under way"; font-size: 0.82rem; }
@media print { .ui-live, .ui-back { display: none; } }
`;
