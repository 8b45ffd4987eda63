"""Writes docs/architecture.md, its Chinese sister and their picture from the code: the rooms' own first lines, the
layers that import-linter checks, and the functions on the way from a file to a verdict.

python docs/draw_architecture.py
"""

import ast
import importlib
import inspect
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS, PACKAGE = ROOT / "docs", ROOT / "src" / "rnnlab"

WAY = (  # what happens, and the function that does it: each is looked up when this is drawn
    ("rnnlab.data.reading:read_examples", "reads rows, or fails with file and line", "读入各行；出错时指出文件和行号"),
    ("rnnlab.data.encoded:encode", "profile, split, tokens, vocabulary", "数据概况、划分、分词、词表"),
    ("rnnlab.sweeps.plan:plan", "checks all that was asked for", "检查全部设置"),
    ("rnnlab.training.loop:train", "one loop, until validation stops improving", "直到验证集不再提升"),
    ("rnnlab.training.record:record_answers", "keeps the answers to every test row", "保存每条测试样本的答案"),
    ("rnnlab.judging.verdict:judge", "intervals, chances, recommendation", "区间、概率、推荐"),
    ("rnnlab.show.telling:tell", "gathers what the report shows", "汇集报告的内容"),
    ("rnnlab.use.predictor:load", "the run directory is the model", "运行目录就是模型"),
)
CHINESE = {
    "answers": "答案的形态（标签、标注、数值）：输出头、损失、计数、得分、解码、基线。只有 `tasks` 提到它们。",
    "api": "compare、train、sweep、judge、report、inspect、doctor：命令行和笔记本调用的函数，每个一份文件。",
    "auditing": "检查任意 torch 模块是否遵守序列模型的定律：填充、顺序、邻居、因果。",
    "claims": "论断的语言，以及实验结果对每条论断的回答。",
    "cli": "每个命令一份文件：解析参数，调用一次 API，打印。",
    "comparing": "一次比较或扫描的所有运行合起来说明了什么（纯数据）：得分、曲线、差异、成本。",
    "core": "设置、注册表、错误、文件、缓存、随机流、文字：每个房间都要用的东西，不依赖 torch。",
    "data": "从文件到扁平数组：格式、分词、词表、划分、概况、批次及其顺序。",
    "execute": "运行在哪里计算：本进程、多进程、Dask、Ray；结果逐位相同。",
    "inspecting": "看进网络内部：随时间的梯度、门、显著性，以及一步的成本。",
    "judging": "从逐行得分到结论：区间、概率、推荐。适用于任何结果表，不依赖 torch。",
    "kernels": "原生内核：一个小型 C++ 库；`ops.py` 是唯一的接缝。",
    "models": "循环单元、循环驱动、编码器、池化与基线；一个架构一份文件。",
    "reference": "只用 numpy：前向与手推的反向传播并排书写。",
    "runs": "运行目录与打包文件：要么完整写入，要么不写；读取时校验。",
    "serving": "HTTP 服务：JSON 接口和一个网页。",
    "sklearn": "把 rnnlab 的模型用作 scikit-learn 的估计器",
    "show": "人看到的一切：终端、网页、图表、笔记本、报告。",
    "sweeps": "要跑什么：实验、计划、坐标轴、研究、搜索、调参、预算。",
    "tasks": "读什么、答什么；一个任务一份文件。",
    "testing": "每个架构、任务、基线、执行器和文件格式都要遵守的定律，公开给插件使用。",
    "training": "唯一的循环：批次、优化器、学习率、检查点、发散诊断、答案记录。",
    "use": "训练好的模型作答：Python、命令行、整份文件、ONNX 导出。",
}


def layers() -> list[list[str]]:
    """From the highest to the lowest, as the contract in pyproject.toml has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [[room.strip() for room in layer.split(":")] for layer in contracts[0]["layers"]]


def rooms() -> dict[str, str]:
    """Each with the first sentence of what it says of itself."""
    found = {}
    for path in sorted(PACKAGE.iterdir()):
        file = path / "__init__.py" if path.is_dir() else path
        if file.suffix == ".py" and file.exists() and not path.name.startswith("__"):
            said = " ".join(
                (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split()
            )
            found[path.stem] = said
    return found


def way() -> list[tuple[str, str, str, str]]:
    """(room, module.function, English, Chinese) of every stop; one that isn't there any more is an error."""
    stops = []
    for where, english, chinese in WAY:
        module, name = where.split(":")
        assert inspect.isfunction(getattr(importlib.import_module(module), name)), where
        short = module.removeprefix("rnnlab.")
        stops.append((short.split(".")[0], f"{short}.{name}", english, chinese))
    return stops


def picture() -> str:
    """The way, top to bottom: a box per stop, with its room, its function and what it does."""
    stops, width, height, gap = way(), 760, 44, 18
    total = 64 + len(stops) * (height + gap) + 50
    label = "The way from a file to a verdict through the rooms of rnnlab"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" font-family="system-ui, sans-serif" '
        f'font-size="14" role="img" aria-label="{label}">',
        f'<rect width="{width}" height="{total}" fill="#ffffff"/>',
        _text(width / 2, 30, "reviews.csv", 'text-anchor="middle" font-weight="600" fill="#18181b"'),
    ]
    for number, (room, name, english, _) in enumerate(stops):
        y = 58 + number * (height + gap)
        lines += [
            _arrow(width / 2, y - gap + 2, y - 2),
            f'<rect x="20" y="{y}" width="{width - 40}" height="{height}" rx="6" fill="#eff6ff" stroke="#1d4ed8"/>',
            _text(36, y + 27, f"{number + 1}  {room}", 'font-weight="600" fill="#18181b"'),
            _text(150, y + 27, name.split(".", 1)[1], 'font-family="monospace" fill="#1e3a8a"'),
            _text(400, y + 27, english, 'fill="#3f3f46"'),
        ]
    y = 58 + len(stops) * (height + gap)
    lines += [
        _arrow(width / 2, y - gap + 2, y - 2),
        _text(
            width / 2, y + 20, "a verdict, a report, a model", 'text-anchor="middle" font-weight="600" fill="#18181b"'
        ),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {style}>{escape(text)}</text>'


def _arrow(x: float, top: float, bottom: float) -> str:
    head = f"M{x - 5:.0f},{bottom - 6:.0f} L{x:.0f},{bottom:.0f} L{x + 5:.0f},{bottom - 6:.0f}"
    return (
        f'<path d="M{x:.0f},{top:.0f} L{x:.0f},{bottom:.0f} {head}" fill="none" stroke="#1d4ed8" stroke-width="1.5"/>'
    )


def page(chinese: bool) -> str:
    title = "# 架构" if chinese else "# Architecture"
    other = "[English](architecture.md)" if chinese else "[中文](architecture.zh-CN.md)"
    lead = (
        "从文件到结论的路，以及每个房间一句话。本页由 `docs/draw_architecture.py` 根据代码生成，测试保证它不过时。"
        if chinese
        else "The way from a file to a verdict, and a line per room. `docs/draw_architecture.py` draws this page from\n"
        "the code, and a test notices when it is stale."
    )
    stops = [f"{n}. `{name}`: {zh if chinese else en}" for n, (_, name, en, zh) in enumerate(way(), 1)]
    said = rooms()
    layered = [room for shelf in layers() for room in shelf]
    order = layered + [room for room in said if room not in layered]
    table = [f"| `{room}` | {CHINESE[room] if chinese else said[room]} |" for room in order]
    head = ["| 房间 | 内容 |", "|---|---|"] if chinese else ["| room | what it has |", "|---|---|"]
    headings = ("## 路", "## 房间") if chinese else ("## The way", "## The rooms")
    after = (
        "上层导入下层，从不反过来；`lint-imports` 负责检查。"
        if chinese
        else "Higher imports lower, never the other way: `lint-imports` checks it."
    )
    picture_line = "![rooms](images/architecture.svg)"
    parts = [
        title,
        other,
        lead,
        picture_line,
        headings[0],
        "\n".join(stops),
        headings[1],
        after,
        "\n".join(head + table),
    ]
    return "\n\n".join(parts) + "\n"


def files() -> dict[Path, str]:
    return {
        DOCS / "architecture.md": page(chinese=False),
        DOCS / "architecture.zh-CN.md": page(chinese=True),
        DOCS / "images" / "architecture.svg": picture(),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
