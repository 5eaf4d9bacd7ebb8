module.exports = { ...require("../../../index.js").skill("prometheus"), id: "prometheus" };
