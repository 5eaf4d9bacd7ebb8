import { type Dice, dice } from "./dice.ts";
import { instructionOf, type NodeScript, rubricOf } from "./script.ts";

/** A random workflow, with all files that it needs. */
export interface Flow {
  readonly seed: number;
  /** Files by name. `flow.yml` is the workflow. */
  readonly files: Readonly<Record<string, unknown>>;
  readonly input: object;
  /** Its building blocks, for the summary. */
  readonly parts: readonly string[];
}

type Node = Readonly<Record<string, unknown>>;
type Edge = Readonly<Record<string, unknown>>;
interface Graph {
  readonly nodes: Record<string, Node>;
  readonly edges: Edge[];
}

export function flowOf(seed: number): Flow {
  const maker = new Maker(dice(seed));
  const writes = maker.dice.percent(20) ? "plan" : "allow";
  const { graph, entry } = maker.whole(2 + maker.dice.below(4));
  const flow = { id: "flow", name: "Flow", entry, writes, state: { known: {} }, ...LIMITS, ...graph };
  const items = Array.from({ length: 1 + maker.dice.below(4) }, (_, index) => ({ id: `i${index + 1}` }));
  const parts = [...maker.parts, ...(writes === "plan" ? ["plan"] : [])];
  return { seed, files: { ...maker.files, "flow.yml": flow }, input: { items, name: "main" }, parts };
}

const LIMITS = { limits: { max_steps: 500, timeout: "2h", per_day: { max_runs: 50 } } };

/** Makes pieces of a workflow, each with one entry and one exit. */
class Maker {
  readonly dice: Dice;
  readonly parts = new Set<string>();
  readonly files: Record<string, unknown> = {};
  constructor(chance: Dice) {
    this.dice = chance;
  }

  /** The last node succeeds. */
  whole(length: number): { readonly graph: Graph; readonly entry: string } {
    const { graph, entry, leave } = this.#chain("n", length, 0);
    graph.nodes["end"] = this.#doing("end", { answers: ["done"] });
    leave("end");
    return { graph, entry };
  }

  #chain(prefix: string, length: number, depth: number): Piece & { readonly graph: Graph } {
    const graph: Graph = { nodes: {}, edges: [] };
    const links = Array.from({ length }, (_, index) => this.#piece(graph, `${prefix}${index}`, depth));
    for (const [index, { leave }] of links.slice(0, -1).entries()) leave(links[index + 1]?.entry ?? "");
    return { graph, entry: links[0]?.entry ?? "", leave: (to) => links.at(-1)?.leave(to) };
  }

  #piece(graph: Graph, id: string, depth: number): Piece {
    const inner = [this.#map, this.#call] as const;
    const kinds = [this.#work, this.#work, this.#work, this.#loop, this.#fork, this.#retry, this.#claims] as const;
    const others = [this.#approval, this.#failing, this.#skipped, this.#limited, this.#corrected, this.#large] as const;
    return this.dice
      .pick([...kinds, ...others, ...(depth < 2 ? [...inner, ...inner] : [])] as const)
      .call(this, graph, id, depth);
  }

  #work(graph: Graph, id: string): Piece {
    return this.#add(graph, id, this.#doing(id, { answers: ["done"] }));
  }

  /** The first answer does not fit the schema. */
  #corrected(graph: Graph, id: string): Piece {
    this.parts.add("corrected");
    return this.#add(graph, id, { ...this.#doing(id, { answers: ["no object", { x: 1 }] }), ...OUTPUT });
  }

  #large(graph: Graph, id: string): Piece {
    this.parts.add("blob");
    const turns = [[`ledger_big ${id}.b`, `ledger_look ${id}.b`], [`read_blob ${id}.b`], ...this.#turns(id)];
    return this.#add(graph, id, this.#doing(id, { turns, answers: ["done"] }));
  }

  #loop(graph: Graph, id: string): Piece {
    this.parts.add("loop");
    const [first, last] = [`${id}a`, `${id}b`];
    const max_iterations = 1 + this.dice.below(3);
    const again = this.dice.percent(50) ? { if: `${last}.x >= 0` } : { when: `${id} once more ${this.dice.below(99)}` };
    graph.nodes[first] = this.#doing(first, { answers: ["done"] });
    graph.nodes[last] = this.#doing(last, { answers: [{ x: 1 }] });
    graph.edges.push({ from: first, to: last }, { from: last, to: first, ...again, max_iterations });
    return { entry: first, leave: (to) => graph.edges.push({ from: last, to }) };
  }

  #fork(graph: Graph, id: string): Piece {
    this.parts.add("fork");
    const [left, right] = [`${id}l`, `${id}r`];
    const isCode = this.dice.percent(50);
    if (!isCode) this.parts.add("route");
    graph.nodes[id] = this.#doing(id, { answers: [{ x: this.dice.below(2) }] });
    for (const side of [left, right]) graph.nodes[side] = this.#doing(side, { answers: ["done"] });
    graph.edges.push({ from: id, to: left, ...(isCode ? { if: `${id}.x = 1` } : { when: `left at ${id}` }) });
    graph.edges.push({ from: id, to: right, ...(isCode ? {} : { when: `right at ${id}` }) });
    return { entry: id, leave: (to) => graph.edges.push({ from: left, to }, { from: right, to }) };
  }

  #retry(graph: Graph, id: string): Piece {
    this.parts.add("retry");
    const later: NodeScript = { turns: this.#turns(`${id}.again`), answers: [{ x: this.dice.below(2) }] };
    const instruction = this.dice.pick([undefined, "again", { auto: true }, { reflect: "Why is that?" }]);
    const checks: [Node, ...Node[]] = [
      { name: "e", kind: "value", rule: { output_matches: [{ path: "x", at_least: 1 }] } },
      { name: "e", kind: "function", rule: { all_tools_called: ["look"] } },
      { name: "e", kind: "judge", rubric: rubricOf(this.dice.pick(["yes", "no"])) },
    ];
    const retry = { max: 1 + this.dice.below(2), ...(instruction === undefined ? {} : { instruction }) };
    const node = this.#doing(id, { answers: [{ x: 0 }], again: later });
    return this.#add(graph, id, { ...node, eval: [this.dice.pick(checks)], retry });
  }

  #claims(graph: Graph, id: string): Piece {
    this.parts.add("evidence");
    const independent = this.dice.percent(30);
    const turns = [...this.#turns(id), [`ledger_look ${id}.c1`, `ledger_look ${id}.c2`]];
    const rule = { claims: "claims[*]", min_supported: 1, independent };
    const output = { type: "object", properties: { claims: { type: "array" } }, required: ["claims"] };
    const evidence = { name: "held", kind: "evidence", rule, on_unsupported: this.dice.pick(["drop", "mark"]) };
    const node = this.#doing(id, { turns, answers: ["claims"] });
    return this.#add(graph, id, { ...node, output, eval: [evidence] });
  }

  #approval(graph: Graph, id: string): Piece {
    this.parts.add("approval");
    graph.nodes[id] = { name: id, approval: { ask: `Go on after ${id}?` } };
    const leave = (to: string) =>
      graph.edges.push({ from: id, to }, { from: id, to, if: `${id}.approved = false` }) as unknown;
    return { entry: id, leave };
  }

  #failing(graph: Graph, id: string): Piece {
    this.parts.add("failing");
    const turns = [
      ["ledger_fail a", `ledger_${this.dice.pick(["fail", "refuse", "nonsense"])} ${id}.f`, `ledger_post ${id}.f`],
    ];
    const node = this.#doing(id, { turns: [...turns, ...this.#turns(id)], answers: ["no object"] });
    return this.#add(graph, id, { ...node, ...OUTPUT, fail_soft: this.dice.percent(50) });
  }

  #skipped(graph: Graph, id: string): Piece {
    this.parts.add("skipped");
    const requires = { output_required: ["input.nothing"], on_fail: "skip" };
    return this.#add(graph, id, { ...this.#doing(id, { answers: ["done"] }), requires });
  }

  #limited(graph: Graph, id: string): Piece {
    this.parts.add("limited");
    const turns = [...this.#turns(id), [`ledger_look ${id}.l`], [`ledger_post ${id}.l`], [`ledger_look ${id}.m`]];
    return this.#add(graph, id, {
      ...this.#doing(id, { turns, answers: ["done"] }),
      max_turns: 1 + this.dice.below(2),
    });
  }

  #map(graph: Graph, id: string, depth: number): Piece {
    this.parts.add("map");
    const inner = this.#chain(`${id}m`, 1 + this.dice.below(2), depth + 1);
    const some = this.dice.pick<Node>([{}, { max_items: 2 }, { on_error: "skip" }, { on_error: "collect" }]);
    const over = "input.items";
    const map = { over, as: "it", key: "it.id", concurrency: 1 + this.dice.below(4), ...some };
    const given = { with: { items: "{{input.items}}", name: "{{input.name}}" } };
    if (this.dice.percent(30)) this.#failFirst(inner.graph, inner.entry);
    return this.#add(graph, id, { name: id, map, entry: inner.entry, ...given, ...inner.graph });
  }

  /** An item that fails, others go on. */
  #failFirst(graph: Graph, entry: string): void {
    const node = graph.nodes[entry];
    if (!node || node["instruction"] === undefined || node["eval"] !== undefined) return;
    this.parts.add("failed item");
    const script = { turns: this.#turns(entry), answers: ["item"] } as const;
    const rule = { output_matches: [{ path: "x", at_least: 2 }] };
    graph.nodes[entry] = {
      ...{ name: entry, skills: ["ledger"], instruction: instructionOf(entry, script) },
      eval: [{ name: "big", kind: "value", rule }],
    };
  }

  #call(graph: Graph, id: string, depth: number): Piece {
    this.parts.add("call");
    const inner = this.#chain(`${id}c`, 1 + this.dice.below(3), depth + 1);
    const file = `${id}.yml`;
    this.files[file] = { id, name: id, entry: inner.entry, state: { known: {} }, ...inner.graph };
    const given = { items: "{{input.items}}", name: "{{input.name}}", it: { id: `c${id}` } };
    return this.#add(graph, id, { name: id, call: `./${file}`, with: given });
  }

  /** One node, which may fail. The next node runs in both cases. */
  #add(graph: Graph, id: string, node: Node): Piece {
    graph.nodes[id] = node;
    const leave = (to: string) =>
      graph.edges.push({ from: id, to }, { from: id, to, if: `${id}.error exists` }) as unknown;
    return { entry: id, leave };
  }

  #doing(id: string, script: Partial<NodeScript> & Pick<NodeScript, "answers">): Node {
    const { turns = this.#turns(id), ...rest } = script;
    return {
      name: id,
      skills: ["ledger"],
      state: ["known"],
      timeout: "1h",
      instruction: instructionOf(id, { turns, ...rest }),
    };
  }

  #turns(id: string): readonly (readonly string[])[] {
    return Array.from({ length: this.dice.below(3) }, (_, turn) => {
      const calls = Array.from(
        { length: 1 + this.dice.below(4) },
        (__, index) => `${this.dice.pick(TOOLS)} ${id}.${turn}${index}`,
      );
      for (const call of calls) this.parts.add(call.split(" ")[0]?.replace(/^ledger_/, "") ?? "");
      return calls;
    });
  }
}

interface Piece {
  readonly entry: string;
  readonly leave: (to: string) => unknown;
}

const OUTPUT = { output: { type: "object", properties: { x: { type: "number" } }, required: ["x"] } };
const TOOLS = [
  ...["look", "look", "look", "post", "post", "mark", "fail", "big"].map((tool) => `ledger_${tool}`),
  ...["state_put", "state_get"],
] as [string, ...string[]];
