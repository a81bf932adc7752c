// The official Anthropic client for Node: the same results straight and through the gateway.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";

import { cancellations, cancelledSince, gateway, order, providers } from "./place.mjs";

const tool = { name: "weather", input_schema: { type: "object", properties: {} } };
const through = () => new Anthropic({ baseURL: gateway, apiKey: "k", maxRetries: 0, timeout: 20_000 });
const ask = (orders, more = {}) => ({ model: "claude-test", max_tokens: 100, messages: order(orders), ...more });

for (const [where, base] of [["direct", providers["anthropic-a"]], ["gateway", gateway]]) {
  describe(where, () => {
    const client = new Anthropic({ baseURL: base, apiKey: "client-key", maxRetries: 0, timeout: 20_000 });

    test("a complete answer has text, usage and a stop reason", async () => {
      const answer = await client.messages.create(ask({ tokens: 5 }));
      assert.equal(answer.stop_reason, "end_turn");
      assert.equal(answer.content[0].text.split("#").length - 1, 5);
      assert.equal(answer.usage.output_tokens, 5);
    });

    test("a stream accumulates to the whole message", async () => {
      const final = await client.messages.stream(ask({ tokens: 7 })).finalMessage();
      assert.equal(final.content[0].text.split("#").length - 1, 7);
      assert.equal(final.stop_reason, "end_turn");
    });

    test("a streamed tool use arrives with its input", async () => {
      const final = await client.messages.stream(ask({ tool: "weather" }, { tools: [tool] })).finalMessage();
      const use = final.content.find((block) => block.type === "tool_use");
      assert.equal(use.name, "weather");
      assert.equal(typeof use.input, "object");
    });

    test("overload is passed on as overload", async () => {
      const call = client.messages.create(ask({ status: 529 }, { model: "claude-limited-node" }));
      await assert.rejects(call, (error) => error instanceof Anthropic.APIError && error.status === 529);
    });

    test("a cut stream is an error and never a clean end", async () => {
      const stream = await client.messages.create(ask({ tokens: 20, fault: { cutAtToken: 5 } }, { stream: true }));
      await assert.rejects(async () => {
        for await (const event of stream) assert.ok(event);
      });
    });
  });
}

test("a client that leaves is noticed by the provider at once", async () => {
  const before = await cancellations();
  const stream = await through().messages.create(ask({ tokens: 2000, gapMs: 20 }, { max_tokens: 3000, stream: true }));
  let left;
  for await (const event of stream) {
    if (event.type !== "content_block_delta") continue;
    left = Date.now();
    break;
  }
  const cancel = await cancelledSince(before);
  assert.ok(cancel.atUnixMs - left < 100, `noticed after ${cancel.atUnixMs - left} ms`);
});
