// The routes that the page uses, all of the main address.

import { events, request } from "./asking.js";

const sent = (body, signal) => ({
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal,
});
const read = async (path, options) => (await request(path, options)).json();

/** What the server says of itself: version, whether it stores, the tools that it runs, its inspector. */
export const facts = () => read("", { headers: { accept: "application/json" } });

/** The served models. */
export const models = async () => (await read("v1/models")).data;

/**
 * Asks for a response. `begun(requestId, warning)` is called once the server has taken the request, then
 * `take(event)` for each event of the stream. Resolves to whether the stream came to its end.
 */
export async function respond(body, signal, begun, take) {
  const response = await request("v1/responses", sent({ ...body, stream: true, store: false, stream_options: { include_obfuscation: false } }, signal));
  begun(response.headers.get("x-request-id"), response.headers.get("x-sluice-warning"));
  return events(response, (data) => {
    if (data === "[DONE]") return true;
    take(JSON.parse(data));
    return false;
  });
}

const at = (id, rest = "") => `v1/conversations/${encodeURIComponent(id)}${rest}`;

/** Conversations that the server keeps. */
export const conversations = {
  create: (metadata) => read("v1/conversations", sent({ metadata })),
  get: (id) => read(at(id)),
  rename: (id, metadata) => read(at(id), sent({ metadata })),
  delete: (id) => read(at(id), { method: "DELETE" }),
  /** At most 20 items. */
  add: async (id, items) => (await read(at(id, "/items"), sent({ items }))).data,
  remove: (id, item) => read(at(id, `/items/${encodeURIComponent(item)}`), { method: "DELETE" }),
  /** All items, in their order. */
  async items(id) {
    const all = [];
    for (let after = ""; ;) {
      const page = await read(at(id, `/items?order=asc&limit=100${after}`));
      all.push(...page.data);
      if (!page.has_more) return all;
      after = `&after=${encodeURIComponent(page.last_id)}`;
    }
  },
};
