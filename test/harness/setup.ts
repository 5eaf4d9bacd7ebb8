import { afterAll } from "vitest";
import { removeProjects } from "../cli/program.ts";

/** Set-up of every test file, also if files share loaded modules. */
afterAll(removeProjects);
