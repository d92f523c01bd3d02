# /// script
# dependencies = ["magentic==0.41.1"]
# ///
"""magentic: a typed return value, which is a forced call, streamed."""
from magentic import OpenaiChatModel, prompt
from scenario import BASE_URL, EXTRACT, MODEL, Person, report


@prompt(EXTRACT, model=OpenaiChatModel(MODEL, api_key="none", base_url=BASE_URL))
def extract() -> Person: ...


report(None, [extract()])
