// The official JavaScript client. Usage: node openai_client.mjs BASE_URL
// One line of JSON for each part, as story.py tells it; then it waits to be let go.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "sk-any", maxRetries: 0, timeout: 20_000 });
const ROUTE = "chat";
const ask = (text) => [{ role: "user", content: text }];
const properties = { city: { type: "string" }, degrees: { type: "integer" } };
const schema = { type: "object", properties, required: ["city", "degrees"], additionalProperties: false };
const FORMAT = { type: "json_schema", json_schema: { name: "weather", schema, strict: true } };
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const TOOL = { type: "function", function: { name: "weather", parameters } };

async function chat(text, more = {}) {
  const reply = await client.chat.completions.create({ model: ROUTE, messages: ask(text), ...more });
  return reply.choices[0].message;
}

async function collected(text, more) {
  const chunks = [];
  const running = await client.chat.completions.create({ model: ROUTE, messages: ask(text), stream: true, ...more });
  for await (const chunk of running) chunks.push(chunk);
  return chunks;
}

const parts = {
  chat: async () => (await chat("hello")).content,
  stream: async () => {
    const chunks = await collected("hello", { stream_options: { include_usage: true } });
    const text = chunks.map((c) => c.choices[0]?.delta.content ?? "").join("");
    return { text, finish: chunks.at(-2).choices[0].finish_reason, tokens: chunks.at(-1).usage.total_tokens };
  },
  tools: async () => {
    const call = (await chat("[[tools]]", { tools: [TOOL] })).tool_calls[0].function;
    const chunks = await collected("[[tools]]", { tools: [TOOL] });
    const streamed = chunks.find((c) => c.choices[0]?.delta.tool_calls).choices[0].delta.tool_calls[0].function.name;
    return { name: call.name, arguments: call.arguments, streamed };
  },
  structured: async () => (await chat("[[json]]", { response_format: FORMAT })).content,
  embeddings: async () => {
    const asked = { model: ROUTE, input: "hello", encoding_format: "float" };
    return (await client.embeddings.create(asked)).data[0].embedding.length;
  },
  completions: async () => (await client.completions.create({ model: ROUTE, prompt: "hello" })).choices[0].text,
  errors: async () => {
    const out = [];
    for (const fields of [{ model: "nobody" }, { temperature: 9 }]) {
      try {
        await client.chat.completions.create({ model: ROUTE, messages: ask("hello"), ...fields });
      } catch (error) {
        if (!(error instanceof OpenAI.APIError)) throw error;
        out.push([error.constructor.name, error.status, error.code]);
      }
    }
    return out;
  },
};

const told = (part, what) => console.log(JSON.stringify({ part, ...what }));
for (const [part, story] of Object.entries(parts)) {
  try {
    told(part, { got: await story() });
  } catch (error) {
    told(part, { error: String(error).slice(0, 500) });
  }
}
const running = await client.chat.completions.create({ model: ROUTE, messages: ask("[[stall]]"), stream: true });
for await (const chunk of running) {
  if (chunk.choices[0]?.delta.content) break; // leaving the loop closes the stream
}
told("cancel", { got: true });
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
