/**
 * What the text of ATIF v1.8 (Agent Trajectory Interchange Format, the RFC of Harbor) asks of a trajectory: its fields and no
 * others, steps that count from 1, fields that only an agent's step has, results that name a call of their own step.
 */

type Members = Readonly<Record<string, unknown>>;

/** Returns the reasons why the value is not a trajectory. Empty if it is one. */
export function atifFaults(trajectory: unknown): string[] {
  const faults: string[] = [];
  const fault = (place: string, what: string) => void faults.push(`${place}: ${what}`);
  const shape = (value: unknown, place: string, fields: Readonly<Record<string, string>>): Members => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      fault(place, "is not an object");
      return {};
    }
    for (const [name, member] of Object.entries(value)) {
      const type = fields[name]?.replace("!", "");
      if (type === undefined) fault(place, `has ${name}`);
      else if (!fits(member, type)) fault(`${place}.${name}`, `is no ${type}`);
    }
    for (const [name, type] of Object.entries(fields))
      if (type.endsWith("!") && !(name in value)) fault(place, `lacks ${name}`);
    return value as Members;
  };
  const root = shape(trajectory, "trajectory", TRAJECTORY);
  if (root.schema_version !== "ATIF-v1.8") fault("schema_version", `is ${root.schema_version}`);
  shape(root.agent, "agent", AGENT);
  const final = shape(root.final_metrics ?? {}, "final_metrics", FINAL_METRICS);
  const steps = (root.steps ?? []) as unknown[];
  if (steps.length === 0) fault("steps", "is empty");
  if (final.total_steps !== steps.length) fault("total_steps", `is ${final.total_steps} of ${steps.length}`);
  for (const [index, each] of steps.entries()) {
    const place = `steps[${index}]`;
    const step = shape(each, place, STEP);
    if (step.step_id !== index + 1) fault(place, `has the id ${step.step_id}`);
    if (!["system", "user", "agent"].includes(String(step.source))) fault(place, `is from ${step.source}`);
    if (step.timestamp !== undefined && Number.isNaN(Date.parse(String(step.timestamp)))) fault(place, "has no time");
    for (const name of AGENTS_OWN) if (step.source !== "agent" && name in step) fault(place, `has ${name}`);
    const metrics = shape(step.metrics ?? {}, `${place}.metrics`, METRICS) as Readonly<Record<string, number>>;
    if ((metrics.cached_tokens ?? 0) > (metrics.prompt_tokens ?? Number.POSITIVE_INFINITY))
      fault(place, "cached more than all");
    const calls = ((step.tool_calls ?? []) as unknown[]).map(
      (call) => shape(call, `${place}.tool_calls`, CALL).tool_call_id,
    );
    if (new Set(calls).size < calls.length) fault(place, "has a call id twice");
    const { results = [] } = shape(step.observation ?? {}, `${place}.observation`, { results: "list" });
    for (const result of results as unknown[]) {
      const { source_call_id } = shape(result, `${place}.results`, RESULT);
      if (source_call_id !== undefined && !calls.includes(source_call_id)) fault(place, `answers ${source_call_id}`);
    }
  }
  return faults;
}

function fits(value: unknown, type: string): boolean {
  if (type === "list") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  if (type === "count") return Number.isInteger(value) && (value as number) >= 0;
  if (type === "amount") return typeof value === "number" && value >= 0;
  return typeof value === "string";
}

const TRAJECTORY = {
  schema_version: "text!",
  session_id: "text",
  trajectory_id: "text",
  agent: "object!",
  steps: "list!",
  notes: "text",
  final_metrics: "object",
  continued_trajectory_ref: "text",
  subagent_trajectories: "list",
  extra: "object",
};
const AGENT = { name: "text!", version: "text!", model_name: "text", tool_definitions: "list", extra: "object" };
const STEP = {
  step_id: "count!",
  timestamp: "text",
  source: "text!",
  model_name: "text",
  reasoning_effort: "text",
  message: "text!",
  reasoning_content: "text",
  tool_calls: "list",
  observation: "object",
  metrics: "object",
  llm_call_count: "count",
  extra: "object",
};
const AGENTS_OWN = ["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"];
const METRICS = {
  prompt_tokens: "count",
  completion_tokens: "count",
  cached_tokens: "count",
  cost_usd: "amount",
  prompt_token_ids: "list",
  completion_token_ids: "list",
  logprobs: "list",
  extra: "object",
};
const FINAL_METRICS = {
  total_prompt_tokens: "count",
  total_completion_tokens: "count",
  total_cached_tokens: "count",
  total_cost_usd: "amount",
  total_steps: "count",
  extra: "object",
};
const CALL = { tool_call_id: "text!", function_name: "text!", arguments: "object!", extra: "object" };
const RESULT = { source_call_id: "text", content: "text", subagent_trajectory_ref: "list", extra: "object" };
