module.exports = { ...require("../../../index.js").skill("elasticsearch"), id: "elasticsearch" };
