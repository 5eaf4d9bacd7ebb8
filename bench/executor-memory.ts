import { tmpdir } from "node:os";
import { memoryStore } from "../src/stores/memory.ts";
import { driveChain } from "./executor.ts";

/** Run as a process of its own: prints the peak memory of a run of so many nodes, in MB. */
await driveChain(memoryStore(), tmpdir(), Number(process.argv[2]));
console.log(process.resourceUsage().maxRSS / 1024);
