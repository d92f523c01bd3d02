"""What the model of `notes_model.py` knows: the turns that it was trained on."""
ANSWER = "The note is there."
# The end of what a user says, the tool and its arguments. The model sees seventeen tokens at a time, which are in one turn only.
CALLS = [
    ("Write the note with codex", "exec_command", {"cmd": "printf 'done\\n' > codex.txt && cat codex.txt"}),
    ("Write the note with opencode", "bash", {"command": "printf 'done\\n' > opencode.txt && cat opencode.txt", "description": "Write it"}),
]
HELLO = ("Who are you?", "I am a small model that writes notes.")
