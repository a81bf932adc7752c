// The official OpenAI client for Node: the same results straight and through the gateway.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import OpenAI from "openai";

import { cancellations, cancelledSince, gateway, order, providers } from "./place.mjs";

const tool = { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } };
const through = () => new OpenAI({ baseURL: `${gateway}/v1`, apiKey: "k", maxRetries: 0, timeout: 20_000 });

for (const [where, base] of [["direct", providers["openai-a"]], ["gateway", gateway]]) {
  describe(where, () => {
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "client-key", maxRetries: 0, timeout: 20_000 });

    test("a complete answer has text, usage and a finish reason", async () => {
      const answer = await client.chat.completions.create({ model: "gpt-test", messages: order({ tokens: 5 }) });
      assert.equal(answer.choices[0].finish_reason, "stop");
      assert.equal(answer.choices[0].message.content.split("#").length - 1, 5);
      assert.equal(answer.usage.completion_tokens, 5);
    });

    test("a stream gives every token once and ends", async () => {
      const stream = await client.chat.completions.create({ model: "gpt-test", messages: order({ tokens: 7 }), stream: true });
      let text = "";
      let finish;
      for await (const chunk of stream) {
        assert.ok(chunk.choices.length > 0, "a usage chunk that nobody asked for reached the client");
        text += chunk.choices[0].delta.content ?? "";
        finish = chunk.choices[0].finish_reason ?? finish;
      }
      assert.equal(text.split("#").length - 1, 7);
      assert.equal(finish, "stop");
    });

    test("a streamed tool call accumulates to its name and arguments", async () => {
      const stream = client.chat.completions.stream({ model: "gpt-test", messages: order({ tool: "weather" }), tools: [tool] });
      const answer = await stream.finalChatCompletion();
      const call = answer.choices[0].message.tool_calls[0];
      assert.equal(call.function.name, "weather");
      assert.equal(typeof JSON.parse(call.function.arguments), "object");
    });

    test("an invalid request is the same error class with the provider's words", async () => {
      const call = client.chat.completions.create({ model: "gpt-test", messages: order({ status: 400 }) });
      await assert.rejects(call, (error) => error instanceof OpenAI.BadRequestError && error.type === "invalid_request_error");
    });

    test("a cut stream is an error and never a clean end", async () => {
      const orders = { tokens: 20, fault: { cutAtToken: 5 } };
      const stream = await client.chat.completions.create({ model: "gpt-test", messages: order(orders), stream: true });
      await assert.rejects(async () => {
        for await (const chunk of stream) assert.ok(chunk);
      });
    });
  });
}

test("a model that nobody serves is not found", async () => {
  const call = through().chat.completions.create({ model: "no-such-model", messages: order({}) });
  await assert.rejects(call, (error) => error instanceof OpenAI.NotFoundError && error.code === "model_not_found");
});

test("the models are listed", async () => {
  const names = [];
  for await (const model of through().models.list()) names.push(model.id);
  assert.ok(names.includes("gpt-test"), String(names));
});

test("a client that leaves is noticed by the provider at once", async () => {
  const before = await cancellations();
  const orders = { tokens: 2000, gapMs: 20 };
  const stream = await through().chat.completions.create({ model: "gpt-test", messages: order(orders), stream: true });
  let left;
  for await (const chunk of stream) {
    assert.ok(chunk);
    left = Date.now();
    break;
  }
  const cancel = await cancelledSince(before);
  assert.ok(cancel.atUnixMs - left < 100, `noticed after ${cancel.atUnixMs - left} ms`);
});

// A server that answers while the client still sends, and then closes, loses its answer in most of such calls.
test("a full lane says 429 and Retry-After, however large the body is", async () => {
  const lane = { headers: { "x-lane": "narrow" } };
  const orders = { tokens: 2000, gapMs: 20 };
  const holder = await through().chat.completions.create({ model: "gpt-test", messages: order(orders), stream: true }, lane);
  for (let call = 0; call < 20; call += 1) {
    const body = { model: "gpt-test", messages: [{ role: "user", content: "x".repeat(20_000_000) }] };
    await assert.rejects(
      through().chat.completions.create(body, lane),
      (error) => error instanceof OpenAI.RateLimitError && Number(error.headers.get("retry-after")) >= 1,
      `call ${call}`,
    );
  }
  holder.controller.abort();
});
