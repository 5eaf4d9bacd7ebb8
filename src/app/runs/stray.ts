export { blameStray, claimStray, markedAsOurs } from "../../run/stray.ts";
