// The official clients for Node: each call once directly and once through the gateway gives equal objects.

import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { AzureOpenAI } from "openai";

import { both, canned, gateway, order, providers } from "./place.mjs";

const openai = (base, more = {}) => new OpenAI({ baseURL: `${base}/v1`, apiKey: "k", maxRetries: 0, timeout: 20_000, ...more });
const anthropic = (base, more = {}) => new Anthropic({ baseURL: base, apiKey: "k", maxRetries: 0, timeout: 20_000, ...more });
const said = (text) => [{ role: "user", content: text }];
const parameters = { type: "object", properties: {} };
const tools = ["weather", "clock"].map((name) => ({ type: "function", function: { name, parameters } }));
const flatTools = ["weather", "clock"].map((name) => ({ type: "function", name, parameters, strict: false }));
const blockTools = ["weather", "clock"].map((name) => ({ name, input_schema: parameters }));

async function all(events) {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}

for (const name of ["plain", "parallel"]) {
  test(`chat, ${name}: whole and streamed`, async () => {
    const ask = { model: "canned", messages: said(`canned ${name}`), tools };
    const whole = await both((base) => openai(base).chat.completions.create(ask));
    const final = await both((base) => openai(base).chat.completions.stream(ask).finalChatCompletion());
    const names = (answer) => (answer.choices[0].message.tool_calls ?? []).map((call) => call.function.name);
    assert.deepEqual(names(final), names(whole));
  });

  test(`responses, ${name}: whole and streamed`, async () => {
    const ask = { model: "canned", input: `canned ${name}`, tools: flatTools, store: false };
    const whole = await both((base) => openai(base).responses.create(ask));
    const final = await both((base) => openai(base).responses.stream(ask).finalResponse());
    assert.deepEqual(final.output.map((item) => item.type), whole.output.map((item) => item.type));
  });
}

for (const name of ["plain", "parallel", "thinking", "pings"]) {
  test(`messages, ${name}: whole and streamed`, async () => {
    const ask = { model: "canned", max_tokens: 100, messages: said(`canned ${name}`), tools: blockTools };
    const whole = await both((base) => anthropic(base).messages.create(ask));
    const final = await both((base) => anthropic(base).messages.stream(ask).finalMessage());
    assert.deepEqual(final.content.map((block) => block.type), whole.content.map((block) => block.type));
  });
}

test("comments between tokens are no tokens", async () => {
  const ask = { model: "canned", messages: said("canned pings"), stream: true };
  const chunks = await both(async (base) => all(await openai(base).chat.completions.create(ask)));
  assert.ok(chunks.length > 4);
});

test("embeddings and token counts", async () => {
  const vectors = await both((base) => openai(base).embeddings.create({ model: "canned", input: ["canned plain", "more"] }));
  assert.equal(vectors.data.length, 2);
  const count = await both((base) => anthropic(base).messages.countTokens({ model: "canned", messages: said("canned plain") }));
  assert.equal(count.input_tokens, 42);
});

for (const status of [400, 401, 403, 404, 409, 422, 429, 500]) {
  test(`status ${status} is the same class with the same words in both clients`, async () => {
    const caught = async (call) => {
      const error = await call.then(() => assert.fail("no error"), (reason) => reason);
      return { kind: error.constructor.name, status: error.status, message: error.message };
    };
    const model = `status-${status}`;
    const first = await both((base) => caught(openai(base).chat.completions.create({ model, messages: said("x") })));
    await both((base) => caught(anthropic(base).messages.create({ model, max_tokens: 9, messages: said("x") })));
    assert.equal(first.status, status);
  });
}

test("the client's own retry waits as long as the provider asks", async () => {
  await both(async (base) => {
    const name = `canned again-${Math.random().toString(16).slice(2)}`;
    const answer = await openai(base, { maxRetries: 2 }).chat.completions.create({ model: "canned-again", messages: said(name) });
    return answer.choices[0].message.content;
  });
});

test("a client with little time is answered before it gives up", async () => {
  // A time-out of the request itself: only that is told to the server.
  const ask = (base) => openai(base).chat.completions.create({ model: "canned", messages: said("canned slow") }, { timeout: 2000 });
  await assert.rejects(ask(canned), (error) => error instanceof OpenAI.APIConnectionTimeoutError);
  // The gateway reads the time-out that the client tells, in whole seconds, and answers a moment before it.
  await assert.rejects(ask(gateway), (error) => error.status === 504 && error.type === "gateway_deadline");
});

test("the Azure client speaks to its deployment", async () => {
  for (const base of [providers["openai-a"], gateway]) {
    const azure = new AzureOpenAI({ endpoint: base, apiKey: "k", apiVersion: "2024-10-21", deployment: "gpt-test", maxRetries: 0 });
    const answer = await azure.chat.completions.create({ model: "gpt-test", messages: order({ tokens: 5 }) });
    assert.equal(answer.choices[0].message.content.split("#").length - 1, 5);
  }
});
