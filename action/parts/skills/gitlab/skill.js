module.exports = { ...require("../../../index.js").skill("gitlab"), id: "gitlab" };
