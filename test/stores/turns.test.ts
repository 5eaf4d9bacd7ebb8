import { memoryTurns } from "../../src/stores/turns.ts";
import { describeTurns } from "../contracts/turns.ts";

describeTurns("turns of a process", memoryTurns);
