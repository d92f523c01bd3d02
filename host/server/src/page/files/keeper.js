// Keeps conversations by the server's store, which holds their items. The browser has only the
// conversations' ids: they open nothing without the server's key, and name nobody.

import { Refused } from "./asking.js";
import { conversations } from "./server.js";

const PLACE = "sluice.conversations";
/** Conversations that the browser remembers. */
const MOST = 50;
/** Items that a request may add. */
const ITEMS = 20;

export class Keeper {
  /** `fail(message)` is called when something isn't kept. */
  constructor(fail) {
    this.fail = fail;
    /** What is done for each conversation, one after the other. */
    this.queues = new Map();
  }

  /** The conversations that this browser remembers and this server has, newest first: `{ id, title }`. */
  async list() {
    const found = await Promise.all(remembered().map((id) => conversations.get(id).catch((error) => {
      // Another key's, or expired: it may be back with another key.
      if (error instanceof Refused && error.status === 404) return null;
      throw error;
    })));
    return found.filter(Boolean).map(({ id, metadata }) => ({ id, title: metadata?.title ?? "" }));
  }

  read({ id }) {
    return conversations.items(id);
  }

  /** Adds items behind the conversation's others; it is created with its first ones. */
  add(conversation, turn, items) {
    this.#then(conversation, async () => {
      if (conversation.id === null) {
        conversation.id = (await conversations.create({ title: conversation.title })).id;
        remember([conversation.id, ...remembered()]);
      }
      for (let from = 0; from < items.length; from += ITEMS) {
        const added = await conversations.add(conversation.id, items.slice(from, from + ITEMS));
        turn.kept.push(...added.map(({ id }) => id));
      }
    });
  }

  /** Removes a turn's items, but for the first `but` of them. */
  takeBack(conversation, turn, but) {
    this.#then(conversation, async () => {
      for (const item of turn.kept.splice(but).reverse()) await conversations.remove(conversation.id, item);
    });
  }

  /** The conversation has another title. */
  rename(conversation) {
    this.#then(conversation, async () => {
      if (conversation.id !== null) await conversations.rename(conversation.id, { title: conversation.title });
    });
  }

  /** Deletes the conversation, which is no longer to be added to; an error is the caller's. */
  async delete(conversation) {
    await this.queues.get(conversation)?.catch(() => {});
    if (conversation.id === null) return;
    await conversations.delete(conversation.id).catch((error) => {
      if (error.status !== 404) throw error;
    });
    remember(remembered().filter((id) => id !== conversation.id));
  }

  /** What fails once isn't tried again, since the order of items would be lost. */
  #then(conversation, act) {
    const before = this.queues.get(conversation) ?? Promise.resolve();
    const after = before.then(() => act().catch((error) => {
      this.fail(`The conversation is no longer kept by the server: ${error.message}`);
      throw error;
    }));
    after.catch(() => {});
    this.queues.set(conversation, after);
  }
}

/** Ids, newest first. Where the browser remembers nothing, neither does the page. */
function remembered() {
  try {
    const ids = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

function remember(ids) {
  try {
    localStorage.setItem(PLACE, JSON.stringify(ids.slice(0, MOST)));
  } catch {
    // The list lasts as long as the page.
  }
}
