import pytest

from rnnlab.core.errors import DataError
from rnnlab.data import tables

CHINESE = "文本,标签\n这部电影真的很好看,好评\n剧情太差了，看不下去,差评\n"


def reading_error(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        tables.read(path, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "notes"),
    [
        ("utf-8", ()),
        ("utf-8-sig", ()),
        ("gb18030", ("read as GB18030",)),
        ("gbk", ("read as GB18030",)),
        ("utf-16", ("read as UTF-16",)),
    ],
)
def test_encodings(write, encoding, notes):
    for content in (CHINESE, CHINESE.replace("这部电影真的很好看", '"这部,电影"')):
        table = tables.read(write("a.csv", content, encoding))
        assert table.columns == ("文本", "标签")
        assert table.values["标签"] == ["好评", "差评"]
        assert table.notes == notes
    big_endian = b"\xfe\xff" + CHINESE.encode("utf-16-be")
    assert tables.read(write("a.csv", big_endian)).columns == ("文本", "标签")


def test_western_bytes_that_happen_to_be_gb18030_are_not_chinese(write):
    german = "text,label\nÄpfel über Straße größer,1\nmöchten Ölfässer,2\n".encode("latin-1")
    assert german.decode("gb18030")
    table = tables.read(write("a.csv", german))
    assert table.notes == ("read as Windows-1252",)
    assert table.values["text"] == ["Äpfel über Straße größer", "möchten Ölfässer"]
    signs = "text,label\n“Win £100” — don’t miss it…,1\nCafé crème,0\n"
    assert tables.read(write("a.csv", signs.encode("cp1252"))).values["text"] == [
        "“Win £100” — don’t miss it…",
        "Café crème",
    ]


@pytest.mark.parametrize(
    "content",
    [
        "text,label\nВсё было очень хорошо,1\nНикогда больше не приду,0\n".encode("cp1251"),
        "text,label\nΤο δωμάτιο ήταν καθαρό,1\nποτέ ξανά,0\n".encode("iso8859-7"),
        "text,label\n房間很乾淨，服務態度很好,1\n再也不會來了,0\n".encode("big5"),
        "text,label\n部屋はとてもきれいでした,1\n二度と行きません,0\n".encode("shift-jis"),
        "text,label\nCafé crème à la carte – très bon,1\nnaïve,0\n".encode()[:-4] + b"\xe9,0\n",
        CHINESE.encode() + b"\xe9,1\n",
    ],
    ids=["Cyrillic", "Greek", "Big5", "Shift JIS", "damaged French", "damaged Chinese"],
)
def test_what_is_neither_chinese_nor_western_is_refused(write, content):
    message = reading_error(write("a.csv", content))
    assert "isn't UTF-8" in message
    assert "save it as UTF-8" in message


def test_undecodable_bytes_are_reported_with_their_offset(write):
    assert "byte 13 (line 2)" in reading_error(write("a.csv", b"text,label\nab\xff,1\n"))
    assert "byte 16 (line 2)" in reading_error(write("a.csv", b"\xef\xbb\xbftext,label\nab\xff,1\n"))
    far = b"text,label\n" + b"a,1\n" * 600_000 + b"\xff\n"
    assert f"byte {len(far) - 2} (line 600002)" in reading_error(write("a.csv", far))
    assert "isn't UTF-16" in reading_error(write("a.csv", "a,b\n".encode("utf-16") + b"x"))
