import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeTools } from "../../src/core/skill.ts";
import { loadSkillModule } from "../../src/loaders/formats/module/skill-module.ts";

const root = join(import.meta.dirname, "../../skills");

it("the built-in tools whose results the team's own systems write are told from those that strangers write", async () => {
  const skills = await Promise.all(
    readdirSync(root)
      .sort()
      .map((id) => loadSkillModule(join(root, id, "skill.ts"))),
  );
  const team = skills.flatMap((skill) => {
    return describeTools(skill, skill.tools).flatMap(({ exposed, origin }) => (origin === "team" ? [exposed] : []));
  });
  expect(team.sort()).toEqual([
    "betterstack_get_monitor",
    "betterstack_list_monitors",
    "datadog_get_monitor",
    "datadog_list_monitors",
    "datadog_query_metrics",
    "git_blame",
    "git_changed_files",
    "git_diff",
    "git_log",
    "git_read_file",
    "git_refs",
    "git_show",
    "github_compare_commits",
    "github_get_commit",
    "github_list_commits",
    "github_list_deployments",
  ]);
});
