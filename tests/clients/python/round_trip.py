"""An agent's round trip with openai-python and a real model, greedy."""
from openai import OpenAI
from transcripts import RESPONSES_TOOLS


def weather_round_trip(client: OpenAI, model: str, city: str):
    """Asks, runs the tool and gets the answer, with the Responses API. -> (first response, call, second response)"""
    question = {"role": "user", "content": f"What is the weather in {city}?"}
    with client.responses.stream(model=model, input=[question], tools=RESPONSES_TOOLS, temperature=0) as stream:
        for _ in stream:
            pass
        first = stream.get_final_response()
    call = next(item for item in first.output if item.type == "function_call")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": '{"temperature": 21, "condition": "sunny"}'}
    history = [question, *[item.to_dict() for item in first.output], result]
    second = client.responses.create(model=model, input=history, tools=RESPONSES_TOOLS, temperature=0)
    return first, call, second
