module.exports = { ...require("../../../index.js").skill("tempo"), id: "tempo" };
