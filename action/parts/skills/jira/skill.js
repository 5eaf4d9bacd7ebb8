module.exports = { ...require("../../../index.js").skill("jira"), id: "jira" };
