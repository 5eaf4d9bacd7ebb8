module.exports = { ...require("../../../index.js").skill("kubernetes"), id: "kubernetes" };
