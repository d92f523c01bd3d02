// openai-node's `client.conversations` and stored chat completions, against the real model inside the binary.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { start, stop } from "./server.mjs";

const model = "qwen3-tiny";
const message = (content) => ({ role: "user", content });
let server;
before(async () => {
  server = await start();
});
after(() => stop(server));

async function collect(pages) {
  const all = [];
  for await (const one of pages) all.push(one);
  return all;
}

test("a conversation is made, read, changed and deleted", async () => {
  const { conversations } = server.client;
  const made = await conversations.create({ metadata: { topic: "tea" } });
  assert.match(made.id, /^conv_[0-9a-f]{32}$/);
  assert.deepEqual(await conversations.retrieve(made.id), made);
  const changed = await conversations.update(made.id, { metadata: { topic: "coffee" } });
  assert.deepEqual(changed.metadata, { topic: "coffee" });
  const deleted = await conversations.delete(made.id);
  assert.deepEqual(deleted, { id: made.id, object: "conversation.deleted", deleted: true });
  await assert.rejects(conversations.retrieve(made.id), { status: 404, code: "not_found" });
});

test("items are added, paged and removed", async () => {
  const { conversations } = server.client;
  const { id } = await conversations.create({ items: [message("a"), message("b")] });
  const added = await conversations.items.create(id, { items: [message("c")], include: ["message.output_text.logprobs"] });
  assert.equal(added.data[0].content[0].text, "c");
  const texts = (items) => items.map((item) => item.content[0].text);
  for (const limit of [1, 2, 100]) {
    assert.deepEqual(texts(await collect(conversations.items.list(id, { limit, order: "asc" }))), ["a", "b", "c"]);
    assert.deepEqual(texts(await collect(conversations.items.list(id, { limit }))), ["c", "b", "a"]);
  }
  const [item] = added.data;
  const named = { conversation_id: id };
  assert.deepEqual(await conversations.items.retrieve(item.id, named), item);
  assert.equal((await conversations.items.delete(item.id, named)).id, id);
  await assert.rejects(conversations.items.retrieve(item.id, named), { status: 404 });
});

test("a response reads its conversation and adds to it", async () => {
  const { client } = server;
  const { id } = await client.conversations.create({ items: [message("My name is Ada.")] });
  const response = await client.responses.create({ model, input: "Hi", conversation: { id }, max_output_tokens: 8 });
  const items = await collect(client.conversations.items.list(id, { order: "asc" }));
  assert.deepEqual(items.slice(2).map((item) => item.id), response.output.map((item) => item.id));
});

test("stored completions are listed, read, changed and deleted", async () => {
  const { completions } = server.client.chat;
  const request = { model, messages: [message("x")], max_tokens: 4, store: true, metadata: { of: "node" } };
  const made = [await completions.create(request), await completions.create(request)];
  const metadata = { of: "node" };
  const ids = made.map((completion) => completion.id);
  assert.deepEqual((await collect(completions.list({ metadata, limit: 1 }))).map((one) => one.id), ids);
  const read = await completions.retrieve(ids[0]);
  assert.deepEqual([read.choices, read.metadata], [made[0].choices, metadata]);
  const [first] = await collect(completions.messages.list(ids[0]));
  assert.deepEqual([first.role, first.content], ["user", "x"]);
  assert.deepEqual((await completions.update(ids[0], { metadata: { a: "b" } })).metadata, { a: "b" });
  for (const id of ids) assert.equal((await completions.delete(id)).deleted, true);
  await assert.rejects(completions.retrieve(ids[0]), { status: 404, code: "not_found" });
});
