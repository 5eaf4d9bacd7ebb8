import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";
import { convertActionTemplate, parseAction } from "@actions/workflow-parser/actions/index";

/** Files of GitHub Actions as GitHub's own parser reads them. Bundled first: the parser imports JSON without an attribute. */

/** Returns what is wrong with a workflow, or with an action if the file is named action.yml. */
export async function complaintsAbout(name: string, content: string): Promise<readonly string[]> {
  const file = { name, content };
  const trace = new NoOperationTraceWriter();
  const isAction = name.endsWith("action.yml");
  const { context, value } = isAction ? parseAction(file, trace) : parseWorkflow(file, trace);
  if (value && isAction) convertActionTemplate(context, value);
  else if (value) await convertWorkflowTemplate(context, value);
  return context.errors.getErrors().map(({ message }) => message);
}
