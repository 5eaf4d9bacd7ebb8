module.exports = { ...require("../../../index.js").skill("grafana"), id: "grafana" };
