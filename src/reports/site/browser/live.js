// All text of the run is put in as text.
const bar = document.getElementById("ui-live");
const at = (id) => document.getElementById(id);
const { run, names: told } = bar.dataset;
const names = JSON.parse(told);
/** The name of an event's node, after the place of its inner run. */
const nameOf = ({ node, to, at: place }) => {
  const path = (place ?? "").replace(/\[[^\]]*(?:\]|$)/g, "");
  const name = names[path]?.[to ?? node] ?? to ?? node;
  return place === undefined ? name : `${short(place, 80)} › ${name}`;
};
let tokens = Number(bar.dataset.tokens),
  cost = Number(bar.dataset.cost);
/** The turn and the open calls of the run, and of each inner run. */
const scopes = new Map();
const scopeOf = ({ at: place = "" }) => {
  if (!scopes.has(place)) scopes.set(place, { turn: 0, open: new Map() });
  return scopes.get(place);
};
const short = (value, most) => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > most ? `${text.slice(0, most)}…` : text;
};
const say = (text, kind) => {
  const line = document.createElement("li");
  line.textContent = text;
  if (kind) line.className = kind;
  at("ui-feed").prepend(line);
  while (at("ui-feed").childElementCount > 30) at("ui-feed").lastElementChild.remove();
};
const now = (text) => {
  at("ui-doing").textContent = text;
};
const spent = () => {
  at("ui-spent").textContent =
    `${tokens.toLocaleString("en")} tokens · $${cost === 0 ? "0" : cost.toFixed(cost < 0.01 ? 4 : 2)}`;
};
/** All but what is ours. */
const reportIn = (page) => [...page.body.children].filter((part) => !part.matches("script, .ui-live, .ui-back"));
/** What the reader folded and unfolded stays so. */
const foldsIn = (page) => {
  const seen = new Map();
  return [...page.querySelectorAll("details")].map((fold) => {
    const name = fold.id || fold.querySelector("summary")?.textContent || "";
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return [`${name} ${seen.get(name)}`, fold];
  });
};
let timer,
  again = false;
const redraw = () => {
  if (timer) {
    again = true;
    return;
  }
  timer = setTimeout(draw, 150);
};
const draw = async () => {
  const answer = await fetch(location.href, { cache: "no-store" }).catch(() => undefined);
  if (answer?.ok) {
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = fresh.title;
    const folds = new Map(foldsIn(document).map(([key, fold]) => [key, fold.open]));
    const top = scrollY;
    for (const part of reportIn(document)) part.remove();
    bar.after(...reportIn(fresh));
    for (const [key, fold] of foldsIn(document)) fold.open = folds.get(key) ?? fold.open;
    scrollTo({ top, behavior: "instant" });
  }
  timer = undefined;
  if (again) {
    again = false;
    redraw();
  }
};
const calling = (e) => {
  const { open, turn } = scopeOf(e);
  return `${nameOf(e)}: ${open.size === 1 ? `calling ${[...open.values()][0]}` : open.size > 1 ? `waiting for ${open.size} calls` : `asking the model, turn ${turn + 1}`}`;
};
const take = {
  "node:enter": (e) => {
    scopes.delete(e.at ?? "");
    say(`● ${nameOf(e)}${e.iteration > 1 ? ` (visit ${e.iteration})` : ""}`, "node");
    now(calling(e));
    redraw();
  },
  "model:reply": (e) => {
    tokens += (e.usage?.inputTokens ?? 0) + (e.usage?.outputTokens ?? 0);
    cost += e.usage?.costUsd ?? 0;
    spent();
    if (e.purpose !== "work") return;
    scopeOf(e).turn += 1;
    now(`${nameOf(e)}: checking the answer`);
  },
  "model:error": (e) => say(`✘ the model: ${short(e.message, 160)}`, "bad"),
  "tool:call": (e) => {
    scopeOf(e).open.set(e.id, e.tool);
    say(`  ${e.tool} ${short(e.input, 160)}`);
    now(calling(e));
  },
  "tool:result": (e) => {
    scopeOf(e).open.delete(e.id);
    say(
      `  ${e.error === undefined ? "✔ " : "✘ "}${e.tool} ${short(e.error ?? e.output, 160)}`,
      e.error === undefined ? "good" : "bad",
    );
    now(calling(e));
  },
  "reply:rejected": (e) => {
    say(`  answer rejected: ${short(e.reason, 160)}`);
    now(calling(e));
  },
  "node:retry": (e) => {
    scopeOf(e).turn = 0;
    say(`↻ ${nameOf(e)} retries: ${short(e.reason, 160)}`, "bad");
    now(calling(e));
  },
  "node:exit": (e) => {
    say(
      `${(e.stopped ? "■ " : e.result.status === "failed" ? "✘ " : "✔ ") + nameOf(e)} ${e.stopped ? "stopped" : e.result.status}`,
      e.result.status === "failed" ? "bad" : "good",
    );
    now(`${nameOf(e)}: choosing the next node`);
    redraw();
  },
  "map:start": (e) => say(`${nameOf(e)}: ${e.items.length} items`),
  "inner:start": (e) => say(`▸ ${short(e.inner, 120)}`, "node"),
  "inner:end": (e) => {
    scopes.delete(e.inner);
    say(
      `${e.status === "failed" ? "✘" : e.status === "success" ? "✔" : "■"} ${short(e.inner, 120)} ${e.status}`,
      e.status === "failed" ? "bad" : "good",
    );
    redraw();
  },
  route: (e) => say(`→ ${nameOf(e)}: ${short(e.reason, 160)}`),
  "limit:reached": (e) => say(`■ ${short(e.message, 160)}`, "bad"),
  "run:resume": () => {
    bar.dataset.running = "";
    at("ui-word").textContent = "running";
    say("↻ resumed", "node");
  },
  "workflow:end": (e) => {
    delete bar.dataset.running;
    at("ui-word").textContent = e.status;
    bar.querySelector(".ui-state").className = `ui-state ${e.status}`;
    bar.querySelector(".ui-busy-dot")?.remove();
    now(e.reason);
    say(`■ ${e.status}: ${short(e.reason, 160)}`, "node");
    redraw();
  },
};
const source = new EventSource(`/api/runs/${encodeURIComponent(run)}/events?after=${bar.dataset.after}`);
source.onmessage = ({ data }) => {
  const event = JSON.parse(data);
  take[event.type]?.(event);
};
