// Where the gateway and the scripted providers are.

import assert from "node:assert/strict";

export const gateway = process.env.HEDGEROW_GATEWAY;
export const providers = JSON.parse(process.env.HEDGEROW_PROVIDERS);

export const canned = process.env.HEDGEROW_CANNED;

/** What `run` gives directly at the provider of canned answers, which through the gateway must be the same. */
export async function both(run) {
  const plain = (value) => JSON.parse(JSON.stringify(value ?? null));
  const direct = await run(canned);
  const through = await run(gateway);
  assert.deepEqual(plain(through), plain(direct));
  return direct;
}

/** A prompt that orders the scripted provider about. */
export const order = (orders) => [{ role: "user", content: `please @sim ${JSON.stringify(orders)} @` }];

/** What a scripted provider has counted. */
export const stats = async (name) => (await fetch(`${providers[name]}/__sim/stats`)).json();

/** The name of the first provider with more cancellations than `before`, looked for until 5 s are over. */
export async function cancelledSince(before) {
  const end = Date.now() + 5000;
  for (;;) {
    for (const name of Object.keys(providers)) {
      const now = await stats(name);
      if (now.cancelled > before[name]) return now.cancels.at(-1);
    }
    if (Date.now() > end) throw new Error("no provider noticed within 5 s");
  }
}

/** Cancellations by provider. */
export async function cancellations() {
  const counts = {};
  for (const name of Object.keys(providers)) counts[name] = (await stats(name)).cancelled;
  return counts;
}
