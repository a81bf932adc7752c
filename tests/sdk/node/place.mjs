// Where the gateway and the scripted providers are.

export const gateway = process.env.HEDGEROW_GATEWAY;
export const providers = JSON.parse(process.env.HEDGEROW_PROVIDERS);

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
