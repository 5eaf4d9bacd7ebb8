module.exports = { ...require("../../../index.js").skill("postgres"), id: "postgres" };
