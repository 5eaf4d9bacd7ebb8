/** Files of skills for the tests of the service. */

interface PackageText {
  readonly name: string;
  readonly version?: string;
  readonly kind?: "action" | "instruction";
  /** Further lines of the manifest, verbatim. */
  readonly more?: string;
  readonly code?: string;
}

/** A package's folder below `skills/`, as files of a project. */
export function packageFiles({ name, version = "1.0.0", kind = "action", more = "", code }: PackageText) {
  const folder = `skills/${name}-${version}`;
  const runtime = '[runtime]\nlanguage = "python"\nentrypoint = "code/main.py"\nexport = "main"\n';
  const toml = `name = "${name}"\nversion = "${version}"\ndescription = "Does ${name}."\nkind = "${kind}"\n`;
  return {
    [`${folder}/skill.toml`]: `${toml}${kind === "action" ? `${more}\n${runtime}` : more}`,
    [`${folder}/SKILL.md`]: `---\nname: The ${name}\nshort_description: Does it.\ntags: [a]\n---\n# How\n\nLike this.\n`,
    ...(kind === "action" ? { [`${folder}/code/main.py`]: code ?? `def main(args):\n    return "${version}"\n` } : {}),
  };
}

/** The package that the guide's own example imports. */
export const COUNT = packageFiles({
  name: "acme.text.count",
  more: '[inputs.text]\ntype = "string"\nrequired = true\n',
  code: 'def main(args):\n    return {"count": len(args["text"].split())}\n',
});
