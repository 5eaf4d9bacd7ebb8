import { afterAll } from "vitest";
import { removeProjects } from "../cli/program.ts";

/** For every test file, also where files share what they load. */
afterAll(removeProjects);
