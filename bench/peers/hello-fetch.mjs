/** Bare `fetch`: the limit. */
const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Say hello." }] });
const headers = { "content-type": "application/json", authorization: "Bearer key" };
const url = `${process.env.OPENAI_BASE_URL}/chat/completions`;
const { choices } = await (await fetch(url, { method: "POST", headers, body })).json();
console.log(choices[0].message.content);
