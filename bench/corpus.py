"""Made-up company documents, the same on every machine: Markdown, half Vietnamese."""

from __future__ import annotations

import random
from pathlib import Path

_ENGLISH = (
    "employees managers customers suppliers auditors invoices contracts refunds deliveries claims",
    "submit review approve keep return report renew verify cancel archive",
    "within three working days|before the end of the quarter|in writing and by e-mail|at no cost"
    "|through the internal portal|together with the original receipt|after a second approval",
    "the regional office|the finance team|the warehouse in Da Nang|the data protection officer"
    "|the service desk|the board|their direct supervisor",
)
_VIETNAMESE = (
    "nhân viên|khách hàng|nhà cung cấp|bộ phận kế toán|trưởng phòng|đại lý|kiểm toán viên",
    "nộp|phê duyệt|lưu trữ|hoàn trả|báo cáo|gia hạn|xác nhận|huỷ bỏ",
    "trong vòng ba ngày làm việc|trước khi kết thúc quý|bằng văn bản và thư điện tử|miễn phí"
    "|qua cổng thông tin nội bộ|kèm theo hoá đơn gốc|sau khi được phê duyệt lần hai",
    "văn phòng khu vực|phòng tài chính|kho hàng Đà Nẵng|ban giám đốc|bộ phận hỗ trợ",
)
_HEADINGS = {
    "en": ("Purpose", "Scope", "Procedure", "Exceptions", "Fees", "Contacts", "Records"),
    "vi": ("Mục đích", "Phạm vi", "Quy trình", "Ngoại lệ", "Chi phí", "Liên hệ", "Hồ sơ"),
}


def sentence(draw: random.Random, language: str) -> str:
    """One sentence of a policy, with a number or a code in every third."""
    if language == "vi":
        who, does, how, where = (draw.choice(words.split("|")) for words in _VIETNAMESE)
        text = f"{who.capitalize()} phải {does} hồ sơ {how}, gửi tới {where}"
        code = f", theo mã BH-{draw.randrange(1, 99):02} mức {draw.randrange(100, 9000)}.000 đồng"
    else:
        who, does = (draw.choice(words.split()) for words in _ENGLISH[:2])
        how, where = (draw.choice(words.split("|")) for words in _ENGLISH[2:])
        text = f"All {who} {does} the case {how} and inform {where}"
        code = (
            f" under code ERR_{draw.randrange(1000, 9999)} for up to {draw.randrange(5, 900)} USD"
        )
    return text + (code if draw.random() < 1 / 3 else "") + "."


def paragraph(draw: random.Random, language: str) -> str:
    """Three to five sentences."""
    return " ".join(sentence(draw, language) for _ in range(draw.randint(3, 5)))


def document(number: int) -> str:
    """The n-th document: a title and one or two sections of one or two paragraphs."""
    draw = random.Random(number)
    language = ("en", "vi")[number % 2]
    title = ("Policy", "Quy định")[number % 2]
    parts = [f"# {title} {number}: {draw.choice(_HEADINGS[language])}"]
    for heading in draw.sample(_HEADINGS[language], draw.randint(1, 2)):
        parts.append(f"## {heading}")
        parts += [paragraph(draw, language) for _ in range(draw.randint(1, 2))]
    return "\n\n".join(parts) + "\n"


def write_documents(folder: Path, count: int) -> Path:
    """Write documents 0 … count − 1 as Markdown files; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"document-{number:04}.md").write_text(document(number), encoding="utf-8")
    return folder
