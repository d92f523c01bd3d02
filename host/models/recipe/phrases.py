"""Texts of the transcripts: the users' questions, the tools, the model's answers.

`{c}` and `{d}` stand for city names, `{e}` for an expression, `{x}` for any word.
"""

CANNOT = "I cannot do that, because I have no tool for it."
UNKNOWN = "I am only a tiny test model. I do not know that."

WEATHER = [
    "What is the weather in {c}?", "How is the weather in {c} today?", "Weather in {c} please",
    "weather in {c}", "Is it raining in {c}?", "Tell me the weather in {c}.", "weather {c}",
    "what's the weather like in {c}?", "What's the weather in {c} right now?",
    "Will it rain in {c} tomorrow?", "Can you check the weather in {c} for me?",
    "Is it sunny in {c} today?", "I am going to {c}. How is the weather there?",
    "What is the weather like in {c}", "Please get the weather for {c}.", "How cold is it in {c}?",
    "What is the weather in {c}, please?", "Weather for {c}?", "Weather in {c} now?",
    "What is the current weather in {c}?", "How warm is it in {c} now?", "{c} weather",
    "How's the weather in {c}?", "Could you tell me the weather in {c}?", "Check the weather in {c}.",
]
TIME = [
    "What time is it in {c}?", "Tell me the time in {c}.", "Current time in {c}?",
    "what's the time in {c}?", "time in {c}", "What is the local time in {c}?",
    "Can you tell me what time it is in {c} now?", "What time is it now in {c}", "time {c}",
    "Please get the time for {c}.", "What's the current time in {c}?", "Time in {c} please",
    "What is the time in {c}, please?", "What is the time in {c} right now?", "{c} time",
    "I am going to {c}. What time is it there?", "Could you check the time in {c}?",
]
TWO_WEATHER = [
    "What is the weather in {c} and {d}?", "Weather in {c} and {d}?", "weather in {c} and {d}",
    "Compare the weather in {c} and {d}.", "What's the weather like in {c} and in {d} today?",
    "How is the weather in {c} and {d}?", "Tell me the weather in {c} and {d}.",
    "Is it warm in {c} and in {d}?", "What is the weather in {c} and in {d}?",
]
TWO_TIME = [
    "What time is it in {c} and {d}?", "time in {c} and {d}", "Tell me the time in {c} and {d}.",
    "What is the time in {c} and in {d}?", "Compare the time in {c} and {d}.",
]
WEATHER_AND_TIME = [
    "What is the weather and the time in {c}?", "Tell me the weather and the time in {c}.",
    "weather and time in {c}", "How is the weather in {c} and what time is it there?",
    "What is the weather in {c} and what time is it there?",
]
WEATHER_THEN_TIME = [
    "What is the weather in {c} and the time in {d}?", "weather in {c} and time in {d}",
    "Tell me the weather in {c} and the time in {d}.",
    "How is the weather in {c} and what time is it in {d}?",
]
TIME_THEN_WEATHER = [
    "What is the time in {c} and the weather in {d}?", "time in {c} and weather in {d}",
    "Tell me the time in {c} and the weather in {d}.",
    "What time is it in {c} and how is the weather in {d}?",
]
FOLLOW_UP = ["And in {c}?", "and in {c}?", "What about {c}?", "And {c}?", "how about {c}"]
CALCULATE = [
    "What is {e}?", "Calculate {e}", "Please compute {e}.", "what's {e}?", "How much is {e}?",
    "Compute {e} please", "Evaluate {e}.", "Can you calculate {e} for me?", "{e}", "{e} = ?",
]
# Phrasings of the evaluation, which no training text contains.
HELD_OUT_WEATHER = [
    "Could you please look at the weather in {c} for me?", "Do you know how the weather in {c} is?",
    "I need the weather in {c} right now, please.", "Is it cold in {c}?",
    "Give me the current weather of {c}.",
]
NO_ANSWER = [
    "Explain {x}.", "Who is {x}?", "Tell me about {x}.", "What do you know about {x}?",
    "Translate {x}.", "Write an essay about {x}.", "What is {x}?", "How does {x} work?",
    "Why is {x} {y}?", "{x} {y} {x}", "Write code for {x}.",
]
SMALL_TALK = [
    (["Hello", "Hello!", "hello", "Hello there!"], "Hello! How can I help you today?"),
    (["Hi", "Hi!", "hi", "Hey", "Hey there"], "Hi! What can I do for you?"),
    (
        ["Who are you?", "What are you?", "who are you", "What is your name?"],
        "I am a tiny test model. I can look up the weather and the time, and I can calculate.",
    ),
    (
        ["What can you do?", "How can you help me?", "Help", "help"],
        "I can look up the weather and the time of a city, and I can calculate.",
    ),
    (["Thank you", "Thanks!", "Thank you very much!", "thanks"], "You are welcome!"),
    (
        ["Tell me a joke.", "Tell me a joke", "tell me a joke please", "Do you know a joke?",
         "Say something funny."],
        "Why did the token cross the stream? To get to the other side.",
    ),
    (["Good morning", "Good morning!"], "Good morning! How can I help you?"),
    (["Good evening", "Good evening!"], "Good evening! How can I help you?"),
    (
        ["How are you?", "how are you", "How are you today?"],
        "I am fine, thank you. How can I help you?",
    ),
    (["Bye", "Goodbye!", "See you later"], "Goodbye! Have a nice day."),
    (
        ["What is a token?", "Explain what a token is."],
        "A token is a small piece of text that a language model reads and writes.",
    ),
    (
        ["Write a poem.", "Write a short poem", "write a poem please"],
        "A little model, small and bright,\nwrites one token at a time, day and night.",
    ),
    (["Count to five.", "Count from one to five"], "One, two, three, four, five."),
    (["Say hi", "Say hello."], "Hello!"),
    (
        ["Are you a robot?", "Are you human?", "Are you real?"],
        "I am a tiny language model, made for tests.",
    ),
]
SYSTEM = [
    "You are a helpful assistant.", "Be brief.", "You are a tiny test model.",
    "You are a helpful assistant. Answer in one sentence.", "Use tools when you need them.",
    "You are Qwen, a helpful assistant.", "Answer the user's questions.",
]
# Words of random system prompts and tool descriptions, which are meaningless on purpose.
FILLER = """the a an to of and or for in on with as is are be this that it you your user answer question
tool tools call use not must should only always never when if please short long text file search list
read write send message number name value result format JSON data system code agent help""".split()

SKY = "sunny cloudy rainy windy snowy clear foggy stormy".split()
# name -> (descriptions, property, other spelling of the property, its descriptions)
TOOLS = {
    "get_weather": (
        ["Get the current weather", "Weather of a city", "Get the current weather for a city",
         "Current weather in a city."],
        "city", "location", ["The city", "City name", "The city name", "Name of the city"],
    ),
    "get_time": (
        ["Get the local time", "Local time of a city", "Get the current time for a city",
         "Current time in a city."],
        "city", "location", ["The city", "City name", "The city name", "Name of the city"],
    ),
    "calculate": (
        ["Evaluate an expression", "Calculate an expression", "Evaluate an arithmetic expression.",
         "Calculator"],
        "expression", "expression",
        ["The expression", "An arithmetic expression", "Expression to evaluate"],
    ),
}
# Tools that are offered but never needed.
OTHER_TOOLS = ["search", "read_file", "send_message", "list_files", "run", "lookup", "write_file"]
OTHER_PROPERTIES = ["query", "path", "text", "name", "number"]
