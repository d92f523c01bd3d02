"""Answers as JSON objects.

Who asks for JSON in words gets the answer as `{"answer": "…"}`. A request may also have a schema, which the server's grammar forces and the
model doesn't see: of such an object nothing is learnt that the grammar decides, which is the first brace and the keys. What is learnt: white
space is one blank behind a comma or a colon, the first text is the answer, another text that nobody asked for is "unknown", and behind the last
brace the answer ends.
"""
import json

FIRST = "answer text message reply summary result response content title description".split()
OTHERS = {
    "city": "unknown", "name": "unknown", "unit": "celsius", "status": "ok", "language": "en", "reason": "unknown", "category": "other",
    "confidence": 0.5, "score": 0.5, "temperature": 0, "count": 1, "year": 2026, "age": 0, "price": 1.5, "is_valid": False,
    "needs_tool": False, "done": True, "found": False, "error": None,
}
LISTED = ["unknown", 0, True]
CHANCE = 0.12
ASKED = ["Answer in JSON.", "Answer as JSON.", "Reply with a JSON object.", "JSON please.", "Respond in JSON format."]


def asking(r, messages):
    """Returns the messages of which one asks for JSON."""
    wish = r.choice(ASKED)
    users = [message for message in messages if message["role"] == "user"]
    if messages[0]["role"] != "system" and r.random() < 0.5:
        return [{"role": "system", "content": wish}, *messages]
    chosen = users[-1]
    return [m | {"content": f"{m['content']} {wish}"} if m is chosen else m for m in messages]


def key(r, words):
    """Returns the name of a property that no list has: one or two words."""
    return "_".join(r.choice(words).strip().lower() for _ in range(r.randint(1, 2)))


def value(r, words, depth=0):
    """Returns a value of any type for a property with any name."""
    kind = r.random()
    if kind < 0.45:
        return "unknown"
    if kind < 0.7:
        return r.choice([0, 0, 1, 0.5, True, False, None])
    if kind < 0.9 or depth > 1:
        return [r.choice(LISTED)] * r.randint(1, 2)
    return {key(r, words): value(r, words, depth + 1) for _ in range(r.randint(1, 2))}


def answer(r, text, words):
    """Returns the object of an answer whose text is `text`."""
    first = r.choice(FIRST) if r.random() < 0.7 else key(r, words)
    members = [(first, text)]
    for _ in range(r.choice([0, 0, 1, 2, 3])):
        if r.random() < 0.5:
            members.append(r.choice(list(OTHERS.items())))
        else:
            members.append((key(r, words), value(r, words)))
    r.shuffle(members)
    return dict(members)


def written(data):
    """-> (the text of an object, which of its characters the grammar decides)"""
    text, decided = "", []

    def add(part, by_grammar=False):
        nonlocal text
        text += part
        decided.extend([by_grammar] * len(part))

    def write(data):
        if not isinstance(data, dict):
            return add(json.dumps(data, ensure_ascii=False))
        add("{", by_grammar=not text)
        for i, (name, member) in enumerate(data.items()):
            add(', "' if i else '"')
            add(name, by_grammar=True)
            add('": ')
            write(member)
        add("}")

    write(data)
    return text, decided
