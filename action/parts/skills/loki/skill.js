module.exports = { ...require("../../../index.js").skill("loki"), id: "loki" };
