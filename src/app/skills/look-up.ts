export { lookUpIn } from "../../loaders/registry/look-up.ts";
