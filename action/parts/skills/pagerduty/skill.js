module.exports = { ...require("../../../index.js").skill("pagerduty"), id: "pagerduty" };
