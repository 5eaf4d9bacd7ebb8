module.exports = { ...require("../../../index.js").skill("http"), id: "http" };
