// The address bar: it names the answer that is shown by its request, so that a page can be reloaded,
// shared, and opened from a request id. What it names is opened once the list has it.

/** What the address names: `{ request, answer }`, or null. */
function named() {
  const query = new URLSearchParams(location.search);
  const request = query.get("request");
  return request ? { request, answer: query.get("answer") } : null;
}

export class AddressBar {
  /** `open(answer)` is called for what the address names, `moved()` when the reader went back or forward. */
  constructor({ open, moved }) {
    this.open = open;
    /** What is still to be opened. */
    this.wanted = named();
    addEventListener("popstate", () => {
      this.wanted = named();
      moved();
    });
  }

  /** Names an answer of the list, or nothing (null). */
  name(answer, list) {
    this.wanted = null;
    const query = new URLSearchParams();
    if (answer?.request_id) {
      query.set("request", answer.request_id);
      const shared = list.filter(({ request_id: request }) => request === answer.request_id).length > 1;
      if (shared) query.set("answer", answer.id);
    }
    const search = query.size ? `?${query}` : "";
    if (search !== location.search) history.pushState(null, "", `${location.pathname}${search}`);
  }

  /** Opens the answer that is wanted if the list has it; returns what there is to say, if not. */
  resolve(list) {
    if (!this.wanted) return "";
    const { request, answer } = this.wanted;
    const found = list.filter((row) => row.request_id === request && (answer === null || row.id === answer));
    if (found.length === 1) {
      this.open(found[0]);
      return "";
    }
    if (found.length > 1) return `Request ${request} has ${found.length} answers: choose one from the list.`;
    return `No answer of request ${request} is in the list. It opens here once it begins; if it has ended, it is no longer among the newest answers of this server, and only a record of it can be shown.`;
  }
}
