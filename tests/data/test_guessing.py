"""Tables with their columns named as people name them: the right columns, or a question; never nonsense."""

import itertools
import json
import random
from collections.abc import Callable

import pytest

from rnnlab.core.errors import DataError
from rnnlab.data.guessing import label_candidates, text_candidates
from rnnlab.data.observations import looks_like_observations
from rnnlab.data.reading import read_examples

ROWS = 120
WORDS = "the a film room staff was very quite good bad clean slow breakfast ending plot we never again loved it"
ENGLISH = WORDS.split()
CHINESE = (
    "房间很干净服务态度不错就是早餐一般下次还会再来位置方便隔音太差了电影情节拖沓演员演技在线物流快包装破损客服不理人"
)


def prose(rng: random.Random) -> str:
    return " ".join(rng.choices(ENGLISH, k=rng.randint(5, 25)))


def chinese(rng: random.Random) -> str:
    return "".join(rng.choices(CHINESE, k=rng.randint(8, 60)))


def short(rng: random.Random) -> str:
    return " ".join(rng.choices(ENGLISH, k=rng.randint(3, 6)))


def one_of(*values: object) -> Callable[[random.Random], str]:
    return lambda rng: str(rng.choice(values))


def date(rng: random.Random) -> str:
    return f"20{rng.randint(10, 24)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def slashed(rng: random.Random) -> str:
    return (
        f"20{rng.randint(10, 24)}/{rng.randint(1, 12)}/{rng.randint(1, 28)} {rng.randint(0, 23)}:{rng.randint(10, 59)}"
    )


def year(rng: random.Random) -> str:
    return str(rng.randint(2010, 2024))


def count(rng: random.Random) -> str:
    return str(int(rng.expovariate(0.2)))


def price(rng: random.Random) -> str:
    return f"{rng.uniform(1, 900):.2f}"


def code(rng: random.Random) -> str:
    return f"{rng.getrandbits(48):012x}"


def link(rng: random.Random) -> str:
    return f"https://example.org/{code(rng)}"


def person(rng: random.Random) -> str:
    return rng.choice(["Ann", "Bob", "Chen", "Dora", "Emil"]) + str(rng.randint(1, 90))


def address(rng: random.Random) -> str:
    return f"{rng.randint(1, 900)} {rng.choice(ENGLISH)} road south {rng.choice(ENGLISH)} town"


def posted(rng: random.Random) -> str:
    return f"Mon Apr {rng.randint(1, 30):02} 22:{rng.randint(10, 59)}:45 PDT 2009"


def nested(rng: random.Random) -> str:
    return json.dumps([{"role": "user", "content": prose(rng)}])


def empty(rng: random.Random) -> str:
    return ""


numbered = itertools.count(1)


def running(rng: random.Random) -> str:
    return str(next(numbered))


SENTIMENT = one_of("positive", "negative", "neutral")
STARS = one_of(1, 2, 3, 4, 5)
YES = one_of(0, 1)
ZH_SENTIMENT = one_of("好评", "中评", "差评")
SHOP = one_of("朝阳店", "海淀店", "浦东店", "徐汇店", "天河店")
Columns = dict[str, Callable[[random.Random], str]]

# Name the columns in the order of the file; then the text and the label; None where it must be asked.
TABLES: list[tuple[Columns, str | None, str | None]] = [
    ({"日期": date, "店铺": SHOP, "评论内容": chinese, "评价": ZH_SENTIMENT}, "评论内容", "评价"),
    ({"text": prose, "label": YES}, "text", "label"),
    ({"label": YES, "review": chinese}, "review", "label"),
    ({"cat": one_of("书籍", "平板", "酒店"), "label": YES, "review": chinese}, "review", "label"),
    ({"v1": one_of("ham", "spam"), "v2": prose}, "v2", "v1"),
    (
        {
            "Id": running,
            "ProductId": code,
            "UserId": code,
            "ProfileName": person,
            "HelpfulnessNumerator": count,
            "Score": STARS,
            "Time": running,
            "Text": prose,
        },
        "Text",
        "Score",
    ),
    ({"Class Index": one_of(1, 2, 3, 4), "Description": prose}, "Description", "Class Index"),
    (
        {
            "tweet_id": running,
            "airline_sentiment": SENTIMENT,
            "airline": one_of("Delta", "United", "Virgin"),
            "negativereason": one_of("late", "lost", "rude", ""),
            "name": person,
            "retweet_count": count,
            "text": prose,
            "tweet_created": slashed,
            "user_timezone": one_of("UTC", "CET", "PST"),
        },
        "text",
        "airline_sentiment",
    ),
    (
        {
            "id": running,
            "keyword": one_of("fire", "flood", "storm"),
            "location": one_of("Paris", "Rome"),
            "text": prose,
            "target": YES,
        },
        "text",
        "target",
    ),
    ({"qid": code, "question_text": prose, "target": YES}, "question_text", "target"),
    ({"comment_text": prose, "toxic": YES, "severe_toxic": YES, "obscene": YES}, "comment_text", None),
    (
        {"PhraseId": running, "SentenceId": count, "Phrase": prose, "Sentiment": one_of(0, 1, 2, 3, 4)},
        "Phrase",
        "Sentiment",
    ),
    (
        {"酒店名称": one_of("如家", "汉庭", "全季"), "城市": one_of("北京", "上海"), "评论": chinese, "评分": STARS},
        "评论",
        "评分",
    ),
    (
        {
            "订单号": running,
            "客户姓名": person,
            "工单描述": chinese,
            "工单类型": one_of("退款", "物流", "账号"),
            "创建时间": slashed,
        },
        "工单描述",
        "工单类型",
    ),
    (
        {"工单描述": chinese, "工单类型": one_of("退款", "物流", "账号"), "处理部门": one_of("客服", "技术", "财务")},
        "工单描述",
        None,
    ),
    ({"标题": chinese, "正文": chinese, "类别": one_of("体育", "财经")}, None, "类别"),
    ({"title": short, "body": prose, "category": one_of("sport", "news")}, None, "category"),
    (
        {
            "ticket_id": running,
            "created_at": slashed,
            "subject": one_of("Help", "Issue", "Bug"),
            "body": prose,
            "category": one_of("billing", "login", "crash"),
        },
        "body",
        "category",
    ),
    (
        {
            "Review Date": date,
            "Reviewer": person,
            "Review": prose,
            "Rating": STARS,
            "Room Type": one_of("twin", "king"),
        },
        "Review",
        None,
    ),
    (
        {"review_date": date, "room_type": one_of("twin", "king"), "review_text": prose, "sentiment": SENTIMENT},
        "review_text",
        "sentiment",
    ),
    ({"序号": running, "微博内容": chinese, "情感倾向": one_of(-1, 0, 1)}, "微博内容", "情感倾向"),
    (
        {
            "微博id": code,
            "发布时间": slashed,
            "发布人账号": person,
            "微博中文内容": chinese,
            "情感倾向": one_of(-1, 0, 1),
        },
        "微博中文内容",
        "情感倾向",
    ),
    (
        {"用户昵称": person, "点赞数": count, "评论时间": slashed, "评论": chinese, "是否推荐": one_of("是", "否")},
        "评论",
        "是否推荐",
    ),
    ({"问题": chinese, "回复": chinese, "意图": one_of("查询", "办理")}, None, "意图"),
    ({"question": prose, "passage": prose, "answer_type": YES}, None, "answer_type"),
    ({"premise": prose, "hypothesis": prose, "gold_label": one_of("entailment", "neutral")}, None, "gold_label"),
    ({"sentence": prose, "label": one_of(0, 1), "label_text": one_of("neg", "pos")}, "sentence", "label"),
    (
        {"Date": date, "Headline": short, "URL": link, "Section": one_of("world", "sport"), "Label": YES},
        "Headline",
        "Label",
    ),
    ({"text": prose, "emotion": one_of("joy", "fear"), "sentiment": SENTIMENT}, "text", None),
    ({"message": prose, "lang": one_of("en", "de"), "intent": one_of("book", "cancel")}, "message", "intent"),
    (
        {"product_name": short, "price": price, "review_title": short, "review_body": prose, "star_rating": STARS},
        None,
        "star_rating",
    ),
    ({"product_category": one_of("toys", "books"), "review_body": prose, "star_rating": STARS}, "review_body", None),
    ({"product_category": one_of("toys", "books"), "description": prose}, "description", "product_category"),
    ({"address": address, "feedback": prose, "priority": one_of("low", "high")}, "feedback", "priority"),
    ({"a": prose, "b": one_of("x", "y")}, "a", "b"),
    ({"a": prose, "b": one_of("x", "y"), "c": one_of("u", "v", "w")}, "a", None),
    ({"城市": one_of("北京", "上海"), "性别": one_of("男", "女"), "留言": chinese}, "留言", None),
    ({"year": year, "lyrics": prose, "genre": one_of("rock", "pop")}, "lyrics", "genre"),
    ({"split": one_of("train", "test"), "utterance": prose, "class": one_of("a", "b", "c")}, "utterance", "class"),
    ({"Unnamed: 0": running, "tweet": prose, "count": one_of(3, 6), "class": one_of(0, 1, 2)}, "tweet", "class"),
    ({"opinion": prose, "result": one_of("win", "loss")}, "opinion", "result"),
    ({"评价": chinese, "评价等级": one_of("好", "差")}, "评价", "评价等级"),
    ({"商品": one_of("手机", "耳机"), "点评": chinese, "星级": STARS, "日期": date}, "点评", "星级"),
    ({"link": link, "post": prose, "stance": one_of("for", "against"), "author": person}, "post", "stance"),
    (
        {"email": lambda rng: f"{person(rng)}@mail.org", "complaint": prose, "department": one_of("it", "hr")},
        "complaint",
        "department",
    ),
    ({"is_sarcastic": YES, "headline": short, "article_link": link}, "headline", "is_sarcastic"),
    ({"name": person, "country": one_of("Italy", "China", "Kenya")}, None, None),
    ({"x1": price, "x2": price, "y": YES}, None, "y"),
    # As shops, desks and Kaggle export them.
    ({"v1": one_of("ham", "spam"), "v2": prose, "Unnamed: 2": one_of("", ""), "Unnamed: 3": empty}, "v2", "v1"),
    (
        {
            "Date received": slashed,
            "Product": one_of("Mortgage", "Credit card"),
            "Issue": one_of("fees", "fraud"),
            "Consumer complaint narrative": prose,
            "State": one_of("CA", "NY"),
            "Timely response?": one_of("Yes", "No"),
            "Complaint ID": running,
        },
        "Consumer complaint narrative",
        None,  # the product, the issue, or whether the answer came in time
    ),
    (
        {"买家": person, "初次评价": chinese, "颜色分类": one_of("红", "蓝"), "好评差评": one_of("好评", "差评")},
        "初次评价",
        "好评差评",
    ),
    (
        {
            "用户名": person,
            "总评分": STARS,
            "口味": STARS,
            "环境": STARS,
            "服务": STARS,
            "人均": count,
            "评论": chinese,
        },
        "评论",
        "总评分",
    ),
    (
        {"job_id": running, "description": prose, "has_company_logo": YES, "telecommuting": YES, "fraudulent": YES},
        "description",
        None,
    ),
    (
        {"诉求人": person, "诉求内容": chinese, "承办单位": one_of("城管局", "住建局"), "是否满意": one_of("是", "否")},
        "诉求内容",
        None,
    ),
    ({"会话ID": code, "客户问题": chinese, "客服回答": chinese, "问题类型": one_of("退款", "物流")}, None, "问题类型"),
    (
        {
            "target": one_of(0, 4),
            "ids": running,
            "date": posted,
            "flag": one_of("NO_QUERY"),
            "user": person,
            "text": prose,
        },
        "text",
        "target",
    ),
    ({"when": posted, "said": short, "y": YES}, "said", "y"),
    ({"messages": nested, "label": one_of("a", "b")}, None, "label"),
    (
        {
            "reviewerID": code,
            "asin": code,
            "helpful": one_of("[0, 0]", "[1, 2]"),
            "reviewText": prose,
            "overall": one_of("1.0", "4.0", "5.0"),
            "reviewTime": posted,
        },
        "reviewText",
        "overall",
    ),
    (
        {
            "review_id": code,
            "stars": STARS,
            "useful": count,
            "funny": one_of(0, 1),
            "cool": one_of(0, 1),
            "text": prose,
        },
        "text",
        "stars",
    ),
    ({"目标": one_of("iPhone", "春节"), "文本": chinese, "立场": one_of("支持", "反对")}, "文本", "立场"),
    (
        {"Unnamed: 0": running, "Clothing ID": count, "Review Text": prose, "Rating": STARS, "Recommended IND": YES},
        "Review Text",
        "Rating",
    ),
    (
        {"您的姓名": person, "您对课程的意见和建议是什么？": chinese, "您是否满意？": one_of("满意", "一般")},
        "您对课程的意见和建议是什么？",
        "您是否满意？",
    ),
    ({"Comment": prose, "Is this spam? (yes/no)": one_of("yes", "no")}, "Comment", "Is this spam? (yes/no)"),
    ({"IsSpam": YES, "Text": prose, "Length": count}, "Text", "IsSpam"),
    (
        {"id": running, "qid1": running, "question1": prose, "question2": prose, "is_duplicate": YES},
        None,
        "is_duplicate",
    ),
    (
        {
            "marketplace": one_of("US", "UK"),
            "review_headline": short,
            "review_body": prose,
            "star_rating": STARS,
            "verified_purchase": one_of("Y", "N"),
            "vine": one_of("Y", "N"),
        },
        None,
        "star_rating",
    ),
    ({"sequence": lambda rng: "".join(rng.choices("ACGT", k=60)), "class": one_of(0, 1, 2)}, "sequence", "class"),
    ({"文本": chinese, "一级分类": one_of("体育", "财经"), "二级分类": one_of("足球", "股票", "基金")}, "文本", None),
    (
        {
            "序号": running,
            "入住类型": one_of("家庭亲子", "商务出差"),
            "点评内容": chinese,
            "评分": one_of("4.5", "5.0"),
        },
        "点评内容",
        None,
    ),
    ({"Comment内容": chinese, "ID号": running, "Label标签": one_of("正面", "负面")}, "Comment内容", "Label标签"),
    (
        {
            "rpid": running,
            "IP属地": one_of("北京", "上海"),
            "评论内容": chinese,
            "点赞": count,
            "情感标签": one_of("积极", "消极"),
        },
        "评论内容",
        "情感标签",
    ),
    ({"Review": prose, "Confidence": price, "Predicted": SENTIMENT, "Actual": SENTIMENT}, "Review", None),
    ({"Tweet": prose, "Emoji": one_of("😂", "🔥")}, "Tweet", "Emoji"),
    ({"买家评价": chinese, "描述相符": STARS, "物流服务": STARS, "评价类型": ZH_SENTIMENT}, "买家评价", "评价类型"),
    ({"文本": chinese, "情绪类别": one_of("高兴", "愤怒", "悲伤"), "强度": one_of(1, 2, 3)}, "文本", "情绪类别"),
    ({"离职原因": chinese, "部门": one_of("研发", "销售"), "是否主动离职": one_of("是", "否")}, "离职原因", None),
    (
        {"description": short, "transcription": prose, "medical_specialty": one_of("Surgery", "Urology")},
        None,
        "medical_specialty",
    ),
    ({"text": prose, "price": price}, "text", None),
    ({"msg": prose, "flagged": one_of("TRUE", "FALSE")}, "msg", "flagged"),
    ({"Text": prose, "Label": one_of("Request about an order", "Complaint about a late delivery")}, "Text", "Label"),
    (
        {
            "drugName": one_of("Contrave", "Xanax"),
            "condition": one_of("Anxiety", "Obesity"),
            "review": prose,
            "rating": one_of("1.0", "9.0"),
            "date": posted,
        },
        "review",
        "rating",
    ),
    ({"news_title": chinese, "news_content": chinese, "channel": one_of("体育", "财经")}, None, None),
    (
        {
            "患者ID": running,
            "主诉": chinese,
            "现病史": chinese,
            "诊断": one_of("感冒", "肺炎"),
            "科室": one_of("内科", "外科"),
        },
        None,
        None,
    ),
]


def column_values(columns: Columns, seed: int) -> dict[str, list[str]]:
    rng = random.Random(seed)
    return {name: [make(rng) for _ in range(ROWS)] for name, make in columns.items()}


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_the_right_columns_or_a_question(number: int, tmp_path) -> None:
    columns, text, label = TABLES[number]
    values = column_values(columns, number)
    texts = text_candidates(values.items())
    assert (texts[0] if len(texts) == 1 else None) == text, texts
    labels = label_candidates((name, column) for name, column in values.items() if name != text)
    assert (labels[0] if len(labels) == 1 else None) == label, labels
    path = tmp_path / "table.tsv"
    rows = zip(*values.values(), strict=True)
    path.write_text("\n".join("\t".join(row) for row in [tuple(values), *rows]) + "\n", encoding="utf-8")
    assert not looks_like_observations(path)  # of series, which are forecast
    if text is None or label is None:
        with pytest.raises(DataError, match=r"which column is the (text|label)\?"):
            read_examples(path)
    else:
        found = read_examples(path)
        assert found.texts is not None
        assert list(found.texts) == values[text]
        assert list(found.labels) == values[label]


def test_the_order_of_columns_and_rows_changes_nothing() -> None:
    for number, (columns, _, _) in enumerate(TABLES):
        values = column_values(columns, number)
        turned = {name: column[::-1] for name, column in reversed(values.items())}
        assert sorted(text_candidates(values.items())) == sorted(text_candidates(turned.items()))
        assert len(label_candidates(values.items())) == len(label_candidates(turned.items()))
