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


def test_western_bytes_that_happen_to_be_gb18030_are_refused(write):
    german = "text,label\nÄpfel über Straße größer,1\nmöchten Ölfässer,2\n".encode("latin-1")
    assert german.decode("gb18030")
    message = reading_error(write("a.csv", german))
    assert "byte 11 (line 2) isn't UTF-8" in message
    assert "not to everyday Chinese" in message
    assert "save it as UTF-8" in message


def test_undecodable_bytes_are_reported_with_their_offset(write):
    assert "byte 13 (line 2)" in reading_error(write("a.csv", b"text,label\nab\xff,1\n"))
    assert "byte 16 (line 2)" in reading_error(write("a.csv", b"\xef\xbb\xbftext,label\nab\xff,1\n"))
    far = b"text,label\n" + b"a,1\n" * 600_000 + b"\xff\n"
    assert f"byte {len(far) - 2} (line 600002)" in reading_error(write("a.csv", far))
    assert "isn't UTF-16" in reading_error(write("a.csv", "a,b\n".encode("utf-16") + b"x"))
