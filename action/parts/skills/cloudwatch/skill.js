module.exports = { ...require("../../../index.js").skill("cloudwatch"), id: "cloudwatch" };
