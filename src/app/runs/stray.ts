export { blameStray, claimStray, guardWork, importing, markedAsOurs, runsSkill } from "../../run/stray.ts";
