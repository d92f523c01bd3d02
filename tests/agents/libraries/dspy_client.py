# /// script
# dependencies = ["dspy==3.4.1", "litellm"]
# ///
"""DSPy: a signature with a typed field, by its JSON adapter; ReAct isn't the server's affair, since it calls tools in text."""
import dspy
from scenario import BASE_URL, EXTRACT, MODEL, Person, report


class Extract(dspy.Signature):
    """Extract the person."""

    text: str = dspy.InputField()
    name: str = dspy.OutputField()
    born: int = dspy.OutputField()


model = dspy.LM(f"openai/{MODEL}", api_base=BASE_URL, api_key="none", cache=False, num_retries=0)
dspy.configure(lm=model, adapter=dspy.JSONAdapter())
answer = dspy.Predict(Extract)(text=EXTRACT)
report(None, [Person(name=answer.name, born=answer.born)])
