"""The page at which a person tries a served model: the same for all models, which it asks the server about."""

from functools import cache
from types import SimpleNamespace

from markupsafe import Markup

from rnnlab.core.words import both
from rnnlab.serving.limits import Limits
from rnnlab.show.pages.shell import environment, made, now, policy, source

TITLE = both("Try the model")
WORDS = SimpleNamespace(
    lead=both("Type a text: the answer comes as you type, with how sure the model is and the words that it rests on."),
    no_script=both("This page needs JavaScript. The server answers without it:"),
    token=both("This server asks for a token"),
    token_kept=both(
        "The value of RNNLAB_TOKEN on the server. It is kept until the page is closed, and stored nowhere."
    ),
    use=both("Use it"),
    text=both("Text"),
    model=both("Model"),
    keys=both("Enter asks at once, Shift + Enter starts a new line."),
    send=both("Ask"),
    answer=both("The answer"),
    nothing=both("The answer will stand here."),
    reasons=both("What the answer rests on"),
    **{"for": both("for the answer")},
    against=both("against it"),
    unknown=both("unknown to the model"),
    point=both("Point at a word, or tap it, to see its weight."),
    request=both("The same from a program"),
    document=both("All that the server understands:"),
    card=both("About this model"),
    limits=both("Its limits"),
    foot=both("Served by rnnlab; nothing typed here goes anywhere else. Started"),
)

SCRIPT_WORDS = {
    "trouble 401": both("This needs the server’s token."),
    "trouble 404": both("The server no longer has this model. Reload the page."),
    "trouble 413": both("This text is too long for the server."),
    "trouble 422": both("The server doesn’t take this text."),
    "trouble 429": both("The server is busy. Asking again …"),
    "trouble 500": both("Something went wrong in the server; its log says what."),
    "trouble 503": both("The server didn’t manage in time. Asking again …"),
    "trouble unreachable": both("The server doesn’t answer. Is it still running?"),
    "trouble other": both("The server refused."),
    "fewer labels": both("Fewer labels"),
    "all labels": both("All {count} labels"),
    "known": both("{share} of the words are known to the model."),
    "doubt": both(" Little to judge by: don’t rely on the answer."),
    "unknown": both("unknown to the model"),
    "model": both("Model"),
    "parameters": both("Parameters"),
    "labels": both("Labels"),
    "seeds": both(", {count} seeds"),
    "accuracy": both("Accuracy on test rows, 95 % interval"),
    "calibration": both("How far probabilities are off, on average"),
    "calibrated": both("{after} points (before calibration: {before})"),
    "data": both("Data"),
    "training rows": both("Training rows"),
    "test rows": both("Test rows"),
}
"""What the script of the page says; it fills the gaps."""


@cache
def page_html(explained_characters: int = Limits.explained_characters) -> tuple[str, str]:
    """The page, and the policy to be sent with it. Longer texts are asked for without an explanation."""
    scripts = [source("shell_head.js"), source("shell.js"), source("serving.js")]
    # what it may do beyond other pages is to ask this server
    allowed = policy(scripts).replace("connect-src 'none'", "connect-src 'self'")
    html = (
        environment()
        .get_template("serving.html")
        .render(
            language="en",
            title=TITLE,
            sections=(),
            reserved={},
            style=Markup(source("shell.css")),
            scripts=[Markup(script) for script in scripts],
            policy=allowed,
            maker="rnnlab serve",
            made=made(now()),
            words=WORDS,
            script_words={key: [text.en, text.zh] for key, text in SCRIPT_WORDS.items()},
            explained_characters=explained_characters,
        )
    )
    return html, f"{allowed}; frame-ancestors 'none'"  # which a page can't say of itself
