export { blameStray, claimStray, guardWork, markedAsOurs, runsSkill } from "../../run/stray.ts";
