"""The page at which a person tries a served model: the same for all models, which it asks the server about."""

from functools import cache
from types import SimpleNamespace

from markupsafe import Markup

from rnnlab.serving.limits import Limits
from rnnlab.show.pages.parts import Both
from rnnlab.show.pages.shell import environment, made, now, policy, source

TITLE = Both("Try the model", "试用模型")
WORDS = SimpleNamespace(
    lead=Both(
        "Type a text: the answer comes as you type, with how sure the model is and the words that it rests on.",
        "输入文本，边输入边出结果：模型的回答、把握有多大，以及依据了哪些词。",
    ),
    no_script=Both(
        "This page needs JavaScript. The server answers without it:", "本页需要 JavaScript。服务本身不需要："
    ),
    token=Both("This server asks for a token", "此服务需要令牌"),
    token_kept=Both(
        "The value of RNNLAB_TOKEN on the server. It is kept until the page is closed, and stored nowhere.",
        "即服务端的 RNNLAB_TOKEN。只保留到页面关闭为止，不会保存。",
    ),
    use=Both("Use it", "使用"),
    text=Both("Text", "文本"),
    model=Both("Model", "模型"),
    keys=Both("Enter asks at once, Shift + Enter starts a new line.", "按 Enter 立即提交，Shift + Enter 换行。"),
    send=Both("Ask", "提交"),
    answer=Both("The answer", "回答"),
    nothing=Both("The answer will stand here.", "回答将显示在这里。"),
    reasons=Both("What the answer rests on", "回答的依据"),
    **{"for": Both("for the answer", "支持该回答")},
    against=Both("against it", "反对该回答"),
    unknown=Both("unknown to the model", "模型不认识"),
    point=Both("Point at a word, or tap it, to see its weight.", "指向或点按一个词，可查看其权重。"),
    request=Both("The same from a program", "在程序中调用"),
    document=Both("All that the server understands:", "服务的全部接口："),
    card=Both("About this model", "关于此模型"),
    limits=Both("Its limits", "局限"),
    foot=Both(
        "Served by rnnlab; nothing typed here goes anywhere else. Started",
        "由 rnnlab 提供服务，输入的内容不会发往别处。启动于",
    ),
)


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
            explained_characters=explained_characters,
        )
    )
    return html, f"{allowed}; frame-ancestors 'none'"  # which a page can't say of itself
