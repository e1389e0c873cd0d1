"""The golden questions: who asks what on which day, and where the answer stands."""

# One row of a table and one question stay one line.
# fmt: off

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from company import acme_people as people
from company import acme_trade as trade
from company import globex
from company.facts import Source, cell, said
from company.model import TODAY, Document

STAFF = ("role:staff",)
HR = ("role:hr", "role:staff")
SALES = ("role:sales", "role:staff")
SUPPORT = ("role:support", "role:staff")
ENGINEERING = ("role:engineering", "role:staff")
LEGAL = ("role:legal", "role:staff")


@dataclass(frozen=True, slots=True)
class Question:
    """One golden question. No ``expected`` source means that nothing may answer it."""

    query: str
    tags: tuple[str, ...]
    principals: tuple[str, ...]
    expected: tuple[Source, ...] = ()
    tenant: str = "acme"
    language: str = "vi"
    as_of: date = TODAY
    must_not: tuple[Document, ...] = ()

    def to_json(self, number: int) -> dict[str, Any]:
        """The question's line in golden.jsonl."""
        row: dict[str, Any] = {"id": f"ex-{number:03d}", "query": self.query, "language": self.language, "tags": list(self.tags), "tenant": self.tenant, "principals": list(self.principals), "as_of": self.as_of.isoformat(), "expected": [source.to_json() for source in self.expected]}
        if self.must_not:
            row["must_not"] = [document.uri for document in self.must_not]
        return row


def questions() -> list[Question]:
    """All questions in a stable order: ids follow the order, and are not kept."""
    groups = (_tables, _codes, _synonyms, _days, _plain, _short, _joined, _policies, _refused)
    return [question for group in groups for question in group()]


def fold(text: str) -> str:
    """Vietnamese as typed without diacritics."""
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return bare.replace("đ", "d").replace("Đ", "D")


def _tables() -> Iterator[Question]:
    def ask(query: str, who: tuple[str, ...], doc: Document, row: str, col: str, *tags: str) -> Question:
        english = query.isascii()
        return Question(query, ("table", *tags), who, (cell(doc, row, col),), doc.tenant, "en" if english else "vi")

    leave = "Số ngày phép năm 2026"
    yield ask("Nhân viên có thâm niên từ 5 đến dưới 10 năm được nghỉ phép năm bao nhiêu ngày?", STAFF, people.LEAVE_2026, "Từ 5 đến dưới 10 năm", leave, "policy")
    yield ask("Làm ở công ty trên 10 năm thì mỗi năm có bao nhiêu ngày phép?", STAFF, people.LEAVE_2026, "Từ 10 năm trở lên", leave, "policy")
    yield ask("Thâm niên 3 năm được chuyển tối đa mấy ngày phép sang năm sau?", STAFF, people.LEAVE_2026, "Từ 1 đến dưới 5 năm", "Được chuyển sang năm sau", "policy")
    yield ask("Bản thân kết hôn thì được nghỉ mấy ngày có hưởng lương?", STAFF, people.LEAVE_2026, "Bản thân kết hôn", "Số ngày", "policy")
    yield ask("Nghỉ khi vợ sinh con cần nộp giấy tờ gì?", STAFF, people.LEAVE_2026, "Vợ sinh con", "Giấy tờ cần nộp", "policy")
    yield ask("Gói Chuyên nghiệp yêu cầu hoàn tiền vào ngày thứ 20 thì được hoàn bao nhiêu phần trăm?", SUPPORT, trade.REFUND, "Chuyên nghiệp", "Từ ngày 15 đến ngày 30", "policy")
    yield ask("Gói Doanh nghiệp được hoàn bao nhiêu nếu yêu cầu từ ngày 15 đến ngày 30?", SUPPORT, trade.REFUND, "Doanh nghiệp", "Từ ngày 15 đến ngày 30", "policy")
    yield ask("Ai duyệt hoàn tiền cho khách gói Doanh nghiệp?", SUPPORT, trade.REFUND, "Doanh nghiệp", "Người duyệt", "policy")
    yield ask("Phí tháng của gói Trường học là bao nhiêu?", STAFF, trade.REFUND, "Trường học", "Phí tháng")
    yield ask("What is the monthly fee of the AcmePay starter plan?", STAFF, trade.REFUND, "Khởi đầu", "Phí tháng")
    yield ask("Máy in hóa đơn PRN-80 được bảo hành bao lâu?", STAFF, trade.WARRANTY, "BH-04", "Thời hạn")
    yield ask("Máy POS cầm tay POS-X3 bảo hành mấy tháng?", SUPPORT, trade.WARRANTY, "BH-02", "Thời hạn")
    yield ask("Hạn mức khách sạn một đêm khi công tác ở Đà Nẵng là bao nhiêu?", STAFF, people.TRAVEL, "Đà Nẵng, Cần Thơ, Hải Phòng", "Khách sạn một đêm")
    yield ask("Đi công tác châu Âu được phụ cấp mỗi ngày bao nhiêu tiền?", STAFF, people.TRAVEL, "Châu Âu, Bắc Mỹ", "Phụ cấp một ngày")
    yield ask("Where may secret information such as salaries be stored?", STAFF, people.SECURITY, "Secret", "Where it may be stored", "policy")
    yield ask("How long is internal information kept?", STAFF, people.SECURITY, "Internal", "Kept for", "policy")
    yield ask("Where does the product tour on day 3 take place?", STAFF, people.ONBOARDING, "Day 3", "Where")
    yield ask("Giá đại lý của màn hình bếp KDS-15 hiện nay?", SALES, trade.PRICES_11, "KDS-15", "Đại lý")
    yield ask("Đại lý cấp 2 được chiết khấu bao nhiêu phần trăm?", SALES, trade.DISCOUNTS, "Cấp 2", "Chiết khấu")
    yield ask("Hạn mức công nợ của đại lý cấp 1?", SALES, trade.DISCOUNTS, "Cấp 1", "Hạn mức công nợ", "short")
    yield ask("Phụ cấp của nhân viên Võ Thanh Hà tháng 11 là bao nhiêu?", HR, people.SALARIES, "E051", "Phụ cấp")
    yield ask("Lương tối đa của bậc B3 là bao nhiêu?", HR, people.SALARIES, "B3", "Lương tối đa")
    yield ask("How many leave days do drivers get?", STAFF, globex.LEAVE_2026, "Drivers", "Leave days", "policy")
    yield ask("What is paid for damage under the Priority service level?", SUPPORT, globex.CLAIMS, "Priority", "Damage or loss", "policy")
    yield ask("How much freight is refunded for Standard service when delivery is 5 days late?", SUPPORT, globex.CLAIMS, "Standard", "More than 3 days", "policy")
    yield ask("What does it cost to store a pallet of frozen seafood for a day?", SALES, globex.STORAGE, "ZN-D", "Fee per pallet and day (VND)")


def _codes() -> Iterator[Question]:
    def ask(query: str, who: tuple[str, ...], source: Source, *tags: str) -> Question:
        language = "en" if query.isascii() else "vi"
        tenant = source.document.tenant
        return Question(query, ("exact_lookup", *tags), who, (source,), tenant, language)

    errors, parts, meaning = trade.API_ERRORS, trade.SPARE_PARTS, "Meaning"
    yield ask("ERR_4021", SUPPORT, cell(errors, "ERR_4021", meaning), "short", "table")
    yield ask("What should I do about ERR_4091?", ENGINEERING, cell(errors, "ERR_4091", "What to do"), "table")
    yield ask("Lỗi ERR_4035 nghĩa là gì?", SUPPORT, cell(errors, "ERR_4035", meaning), "table")
    yield ask("Can a client retry after ERR_4001?", ENGINEERING, cell(errors, "ERR_4001", "Retry"), "table")
    yield ask("Gặp mã ERR_4022 thì xử lý thế nào?", SUPPORT, cell(errors, "ERR_4022", "What to do"), "table")
    yield ask("ERR_4290", ENGINEERING, cell(errors, "ERR_4290", meaning), "short", "table")
    yield ask("ERR_5040 what to do", ENGINEERING, cell(errors, "ERR_5040", "What to do"), "table")
    yield ask("BH-05", SUPPORT, cell(trade.WARRANTY, "BH-05", "Thời hạn"), "short", "table")
    yield ask("Mã bảo hành BH-01 có máy thay thế không?", SUPPORT, cell(trade.WARRANTY, "BH-01", "Máy thay thế"), "table")
    yield ask("BH-06 bảo hành bao nhiêu tháng?", SUPPORT, cell(trade.WARRANTY, "BH-06", "Thời hạn"), "table")
    yield ask("Giá linh kiện LK-047", SUPPORT, cell(parts, "LK-047", "Giá (đồng)"), "short", "table")
    yield ask("LK-118 còn tồn kho bao nhiêu?", SUPPORT, cell(parts, "LK-118", "Tồn kho"), "table")
    yield ask("Linh kiện LK-003 là gì và giá bao nhiêu?", SALES, cell(parts, "LK-003", "Giá (đồng)"), "table")
    yield ask("LK-150", SUPPORT, cell(parts, "LK-150", "Tên linh kiện"), "short", "table")
    yield ask("GIA-2026-11 giá bán lẻ POS-S1", SALES, cell(trade.PRICES_11, "POS-S1", "Khách lẻ"), "table")
    yield ask("Hợp đồng HĐK-2026-017 ký với ai?", LEGAL, said(trade.CONTRACT, "Bên B là Công ty TNHH Thương mại Minh Phát"))
    yield ask("Điều 8 của hợp đồng khung đại lý", LEGAL, said(trade.CONTRACT, "phạt 8% giá trị phần nghĩa vụ bị vi phạm"), "short")
    yield ask("Khoản 4.2 hợp đồng khung quy định lãi chậm trả bao nhiêu?", LEGAL, said(trade.CONTRACT, "chịu lãi 0,05% mỗi ngày"))
    yield ask("INC-2026-118", SUPPORT, said(trade.INCIDENT, "Báo cáo sự cố INC-2026-118"), "short")
    yield ask("Quyết định số 12/2026/QĐ-NS", STAFF, said(people.LEAVE_2026, "Quyết định số 12/2026/QĐ-NS"), "short")
    yield ask("Thông báo 22/2026/TB-HC nói gì về làm việc từ xa?", STAFF, said(people.HOURS_2026, "làm việc từ xa 2 ngày mỗi tuần"))
    yield ask("Mẫu 04/SS-HĐĐT dùng khi nào?", SUPPORT, said(trade.FAQ, "Sau 24 giờ phải lập biên bản điều chỉnh theo mẫu 04/SS-HĐĐT"))
    yield ask("E068", HR, cell(people.SALARIES, "E068", "Họ và tên"), "short", "table")
    yield ask("LN-077", SALES, cell(globex.RATES, "LN-077", "20-foot"), "short", "table")
    yield ask("What is the 40-foot rate of lane LN-015?", SALES, cell(globex.RATES, "LN-015", "40-foot"), "table")
    yield ask("ERR_4021", SUPPORT, cell(globex.EDI_ERRORS, "ERR_4021", meaning), "short", "table")
    yield ask("Who repairs ERR_6110?", SUPPORT, cell(globex.EDI_ERRORS, "ERR_6110", "Who repairs it"), "table")
    yield ask("zone ZN-C free days", SALES, cell(globex.STORAGE, "ZN-C", "Free days"), "table")
    yield ask("Clause 5 NDA penalty", LEGAL, said(globex.NDA, "50,000 USD for each case"))


def _synonyms() -> Iterator[Question]:
    def ask(query: str, who: tuple[str, ...], source: Source, *tags: str) -> Question:
        language = "en" if query.isascii() else "vi"
        tenant = source.document.tenant
        return Question(query, ("synonym_or_acronym", *tags), who, (source,), tenant, language)

    yield ask("When can I take my first PTO?", STAFF, said(people.ONBOARDING, "can be taken only after the second month"), "policy")
    yield ask("PTO là gì?", STAFF, cell(people.GLOSSARY, "PTO", "Tiếng Việt"), "short", "table")
    yield ask("WFH được mấy ngày một tuần?", STAFF, said(people.HOURS_2026, "làm việc từ xa 2 ngày mỗi tuần"), "policy")
    yield ask("Số lần WFH hằng tuần của nhân viên kho", STAFF, said(people.HOURS_2026, "riêng bộ phận kho và hỗ trợ tại quầy làm việc tại chỗ cả tuần"), "policy")
    yield ask("Is 2FA by text message allowed?", STAFF, said(people.SECURITY, "codes by SMS are not accepted"), "policy")
    yield ask("MFA nghĩa là gì?", STAFF, cell(people.GLOSSARY, "MFA", "Tiếng Việt"), "short", "table")
    yield ask("Can I read work e-mail on my own smartphone?", STAFF, said(people.SECURITY, "Private phones may read mail only inside the managed profile"), "policy")
    yield ask("Máy DOA thì đổi trong bao lâu?", SUPPORT, said(trade.WARRANTY, "được đổi máy mới cùng loại trong vòng 7 ngày"), "policy")
    yield ask("Không có phiếu nhận hàng bảo hành thì trung tâm có nhận máy không?", SUPPORT, said(trade.WARRANTY, "kiện hàng không ghi số RMA bị từ chối nhận"), "policy")
    yield ask("RMA", SUPPORT, cell(people.GLOSSARY, "RMA", "Tiếng Việt"), "short", "table")
    yield ask("MOQ của máy POS-X3 tháng này", SALES, cell(trade.PRICES_11, "POS-X3", "Đặt tối thiểu"), "table")
    yield ask("SLA hotline kỹ thuật trong hợp đồng đại lý", LEGAL, said(trade.CONTRACT, "tổng đài kỹ thuật trả lời trong 30 giây với 90% cuộc gọi"))
    yield ask("Cưới vợ được nghỉ mấy hôm?", STAFF, cell(people.LEAVE_2026, "Bản thân kết hôn", "Số ngày"), "table", "policy")
    yield ask("Bố mất thì được nghỉ tang mấy ngày?", STAFF, cell(people.LEAVE_2026, "Cha mẹ, vợ chồng hoặc con qua đời", "Số ngày"), "table", "policy")
    yield ask("Khách muốn lấy lại tiền thì mất bao lâu mới nhận được?", SUPPORT, said(trade.REFUND, "trong 5 đến 7 ngày làm việc"), "policy")
    yield ask("Tiền ứng trước cho chuyến đi công tác tối đa bao nhiêu?", STAFF, said(people.TRAVEL, "tạm ứng tối đa 80% chi phí dự kiến"), "policy")
    yield ask("How much is the throttling limit per hour?", ENGINEERING, said(trade.API_ERRORS, "120 requests in a minute and 5,000 in an hour"))
    yield ask("My notebook was stolen, whom do I call?", STAFF, said(people.SECURITY, "Report a lost or stolen device to the security hotline, extension 5555, within 2 hours"), "policy")
    yield ask("Trial period length for graduates", STAFF, said(people.ONBOARDING, "Probation lasts 60 days"), "policy")
    yield ask("Cúp điện internet thì máy tính tiền có bán hàng được không?", SUPPORT, said(trade.FAQ, "keeps up to 2,000 sales offline for 72 hours"))
    yield ask("BHXH trừ bao nhiêu phần trăm lương?", STAFF, cell(people.GLOSSARY, "BHXH", "Ghi chú"), "table")
    yield ask("GTGT tiếng Anh là gì?", STAFF, cell(people.GLOSSARY, "VAT", "Tiếng Anh"), "short", "table")
    yield ask("NDA duration of the duty of confidence", LEGAL, said(globex.NDA, "five years from the date of disclosure"), "policy")
    yield ask("IMO hazardous cargo surcharge", SALES, said(globex.RATES, "Dangerous goods of classes 3 and 8 pay 350 dollars more"))
    yield ask("BAF percentage of the sea freight", SALES, said(globex.RATES, "The bunker surcharge is 9% of the rate"), "short")


def _days() -> Iterator[Question]:
    leave = {2025: people.LEAVE_2025, 2026: people.LEAVE_2026, 2027: people.LEAVE_2027}
    prices = {10: trade.PRICES_10, 11: trade.PRICES_11, 12: trade.PRICES_12}

    def on_leave(query: str, day: str, year: int, row: str, col: str) -> Question:
        others = tuple(document for y, document in leave.items() if y != year)
        source = cell(leave[year], row, col)
        return Question(query, ("as_of", "table", "policy"), STAFF, (source,), as_of=date.fromisoformat(day), must_not=others)

    def on_price(query: str, day: str, month: int, row: str, col: str) -> Question:
        others = tuple(document for m, document in prices.items() if m != month)
        source = cell(prices[month], row, col)
        return Question(query, ("as_of", "table"), SALES, (source,), as_of=date.fromisoformat(day), must_not=others)

    middle = "Từ 1 đến dưới 5 năm"
    for day, year in (("2025-06-01", 2025), ("2026-03-15", 2026), ("2027-02-01", 2027)):
        yield on_leave("Làm được 3 năm thì mỗi năm được nghỉ phép bao nhiêu ngày?", day, year, middle, f"Số ngày phép năm {year}")
    for day, year in (("2025-12-31", 2025), ("2026-01-01", 2026), ("2027-12-31", 2027)):
        yield on_leave("Từ 10 năm thâm niên được chuyển bao nhiêu ngày phép sang năm sau?", day, year, "Từ 10 năm trở lên", "Được chuyển sang năm sau")
    for day, year in (("2025-08-20", 2025), ("2027-05-05", 2027)):
        yield on_leave("Nghỉ kết hôn được mấy ngày?", day, year, "Bản thân kết hôn", "Số ngày")
    for day, month in (("2026-10-15", 10), ("2026-11-30", 11), ("2026-12-01", 12)):
        yield on_price("Giá bán lẻ máy POS-S1 là bao nhiêu?", day, month, "POS-S1", "Khách lẻ")
    for day, month in (("2026-10-31", 10), ("2026-11-01", 11), ("2026-12-31", 12)):
        yield on_price("Giá đại lý PRN-80", day, month, "PRN-80", "Đại lý")
    yield on_price("Máy POS-X5 giá bao nhiêu?", "2026-12-15", 12, "POS-X5", "Khách lẻ")

    def said_on(query: str, day: date, source: Source, *others: Document) -> Question:
        return Question(query, ("as_of", "policy"), STAFF, (source,), as_of=day, must_not=others)

    early, late = (said(people.LEAVE_2025, "trước ít nhất 5 ngày làm việc"), said(people.LEAVE_2027, "trước ít nhất 2 ngày làm việc"))
    yield said_on("Xin nghỉ phép phải báo trước bao lâu?", date(2025, 6, 1), early, people.LEAVE_2026, people.LEAVE_2027)
    yield said_on("Xin nghỉ phép phải báo trước bao lâu?", date(2027, 3, 1), late, people.LEAVE_2025, people.LEAVE_2026)
    yield said_on("Giờ làm việc tại văn phòng", date(2025, 3, 1), said(people.HOURS_2024, "từ 8 giờ 30 đến 17 giờ 30"), people.HOURS_2026)
    yield said_on("Mỗi tuần được làm việc từ xa mấy ngày?", date(2026, 8, 31), said(people.HOURS_2024, "làm việc từ xa 1 ngày mỗi tuần"), people.HOURS_2026)
    yield said_on("Tết năm nay nghỉ từ ngày nào?", date(2026, 1, 20), said(people.TET_2026, "từ thứ Bảy ngày 14/02/2026"))
    yield Question("Lịch nghỉ Tết Bính Ngọ", ("as_of", "unanswerable", "short"), STAFF, must_not=(people.TET_2026,))
    yield Question("Máy POS-X5 giá bao nhiêu?", ("as_of", "unanswerable"), SALES, must_not=(trade.PRICES_12, trade.PRICES_10))
    old, new = globex.LEAVE_2025, globex.LEAVE_2026
    for document, other, when in ((old, new, date(2025, 9, 9)), (new, old, date(2026, 9, 9))):
        yield Question("How many days of annual leave does office staff have?", ("as_of", "table", "policy"), STAFF, (cell(document, "Office staff", "Leave days"),), "globex", "en", when, (other,))
    budget = said(globex.BENEFITS_2027, "The budget is 1,500,000 VND a month")
    yield Question("What is the monthly flexible benefit budget?", ("as_of", "policy"), STAFF, (budget,), "globex", "en", date(2027, 1, 1))
    yield Question("What is the monthly flexible benefit budget?", ("as_of", "unanswerable"), STAFF, (), "globex", "en", TODAY, (globex.BENEFITS_2027,))


def _plain() -> Iterator[Question]:
    def ask(query: str, who: tuple[str, ...], source: Source, *tags: str) -> Question:
        return Question(fold(query), ("no_diacritics", *tags), who, (source,))

    yield ask("Nghỉ ốm đột xuất phải báo quản lý trước mấy giờ?", STAFF, said(people.LEAVE_2026, "nhắn quản lý trước 9 giờ sáng"), "policy")
    yield ask("Đơn xin nghỉ quá hạn không ai trả lời thì sao?", STAFF, said(people.LEAVE_2026, "quá hạn mà không trả lời thì đơn được coi là đã duyệt"), "policy")
    yield ask("Phép chưa dùng năm 2026 phải nghỉ hết trước ngày nào?", STAFF, said(people.LEAVE_2026, "phải dùng hết trước ngày 31/03/2027"), "policy")
    yield ask("Số ngày phép năm của người làm từ 5 đến dưới 10 năm", STAFF, cell(people.LEAVE_2026, "Từ 5 đến dưới 10 năm", "Số ngày phép năm 2026"), "table", "policy")
    yield ask("Con kết hôn thì cha mẹ được nghỉ mấy ngày", STAFF, cell(people.LEAVE_2026, "Con kết hôn", "Số ngày"), "table", "policy")
    yield ask("Khi nào không được hoàn tiền?", SUPPORT, said(trade.REFUND, "Không hoàn tiền khi tài khoản bị khóa vì gian lận"), "policy")
    yield ask("Gói Trường học được hoàn bao nhiêu sau 30 ngày?", SUPPORT, cell(trade.REFUND, "Trường học", "Sau 30 ngày"), "table", "policy")
    yield ask("Máy vào nước có được bảo hành không?", SUPPORT, said(trade.WARRANTY, "Máy vào nước, cháy do điện áp"), "policy")
    yield ask("Trả máy bảo hành chậm thì khách được gì?", SUPPORT, said(trade.WARRANTY, "mỗi ngày chậm khách được cộng thêm 3 ngày bảo hành"), "policy")
    yield ask("Đầu đọc mã vạch bảo hành bao nhiêu tháng", SUPPORT, cell(trade.WARRANTY, "BH-06", "Thời hạn"), "table")
    yield ask("Hồ sơ thanh toán công tác phí nộp trong bao nhiêu ngày?", STAFF, said(people.TRAVEL, "nộp trong vòng 7 ngày làm việc sau khi kết thúc chuyến đi"), "policy")
    yield ask("Công tác Hà Nội ở khách sạn tối đa bao nhiêu một đêm?", STAFF, cell(people.TRAVEL, "Hà Nội, TP. Hồ Chí Minh", "Khách sạn một đêm"), "table")
    yield ask("Hóa đơn từ bao nhiêu tiền phải chuyển khoản?", STAFF, said(people.TRAVEL, "Hóa đơn từ 5 triệu đồng trở lên"), "policy")
    yield ask("Ngày họp chung của công ty là thứ mấy?", STAFF, said(people.HOURS_2026, "Thứ Ba là ngày họp chung"))
    yield ask("Có con nhỏ thì được chọn giờ làm nào?", STAFF, said(people.HOURS_2026, "ai có con nhỏ dưới 6 tuổi được chọn khung 7 giờ 30 đến 16 giờ 30"), "policy")
    yield ask("Máy POS không bật được", SUPPORT, said(trade.FAQ, "Giữ nút nguồn 12 giây rồi thả ra"), "short")
    yield ask("Đổi mật khẩu thu ngân ở đâu?", SUPPORT, said(trade.FAQ, "chọn Nhân viên, bấm Đặt lại mã PIN"))
    yield ask("Gửi nhầm hóa đơn điện tử thì làm sao?", SUPPORT, said(trade.FAQ, "bấm Gửi lại và nhập địa chỉ đúng"))
    yield ask("Nguyên nhân sự cố thanh toán thẻ ngày 14/11", SUPPORT, said(trade.INCIDENT, "chứng thư số của cổng kết nối thẻ hết hạn"))
    yield ask("Đại lý bán ngoài vùng bị phạt gì?", SALES, said(trade.DISCOUNTS, "bị trừ 2% chiết khấu của quý"), "policy")
    yield ask("Đại lý cấp 3 được chiết khấu bao nhiêu?", SALES, cell(trade.DISCOUNTS, "Cấp 3", "Chiết khấu"), "table")
    yield ask("Giá bán lẻ máy POS hai màn hình", SALES, cell(trade.PRICES_11, "POS-M2", "Khách lẻ"), "table")
    yield ask("Tranh chấp hợp đồng đại lý giải quyết ở đâu?", LEGAL, said(trade.CONTRACT, "Trung tâm Trọng tài Quốc tế Việt Nam (VIAC)"))
    yield ask("Thời hạn hợp đồng khung đại lý", LEGAL, said(trade.CONTRACT, "Hợp đồng có hiệu lực 12 tháng kể từ ngày ký"), "short")
    yield ask("Lương cơ bản của Phạm Minh Đức tăng lên bao nhiêu?", HR, said(people.ANNEX_E042, "từ 16.900.000 đồng lên 18.700.000 đồng mỗi tháng"))


def _short() -> Iterator[Question]:
    def ask(query: str, who: tuple[str, ...], source: Source, *tags: str) -> Question:
        language = "en" if query.isascii() else "vi"
        return Question(query, ("short", *tags), who, (source,), source.document.tenant, language)

    yield ask("password length", STAFF, said(people.SECURITY, "Passwords have at least 14 characters"))
    yield ask("hotline hours", SUPPORT, said(trade.FAQ, "open from 7:00 to 23:00 every day"))
    yield ask("lunch allowance", STAFF, said(people.ONBOARDING, "Lunch allowance of 55,000 VND"))
    yield ask("lunch allowance", STAFF, said(globex.MOVE, "a lunch allowance of 60,000 VND a day"))
    yield ask("phạt chậm thanh toán đại lý", LEGAL, said(trade.CONTRACT, "chịu lãi 0,05% mỗi ngày"))
    yield ask("HTTP 429", ENGINEERING, said(trade.API_ERRORS, "Above that the API answers 429 with the header Retry-After"))
    yield ask("webhook retries", ENGINEERING, said(trade.API_ERRORS, "is sent again after 1, 5, 30 and 120 minutes"))
    yield ask("carry-over days", STAFF, said(globex.LEAVE_2026, "Up to 6 days may be carried over"), "policy")
    yield ask("new office address", STAFF, said(globex.MOVE, "Tower B, 27 Le Hong Phong Street"))


def _joined() -> Iterator[Question]:
    def ask(query: str, tag: str, who: tuple[str, ...], *sources: Source, language: str = "vi") -> Question:
        return Question(query, (tag,), who, sources, sources[0].document.tenant, language)

    yield ask("Giờ làm việc mới khác giờ làm việc cũ thế nào?", "comparison", STAFF, said(people.HOURS_2026, "từ 8 giờ đến 17 giờ"), said(people.HOURS_2024, "từ 8 giờ 30 đến 17 giờ 30"))
    yield ask("So sánh số ngày làm việc từ xa trong thông báo 2024 và 2026", "comparison", STAFF, said(people.HOURS_2026, "làm việc từ xa 2 ngày mỗi tuần"), said(people.HOURS_2024, "làm việc từ xa 1 ngày mỗi tuần"))
    yield ask("Gói Chuyên nghiệp và gói Doanh nghiệp khác nhau thế nào khi hoàn tiền sau 30 ngày?", "comparison", SUPPORT, cell(trade.REFUND, "Chuyên nghiệp", "Sau 30 ngày"), cell(trade.REFUND, "Doanh nghiệp", "Sau 30 ngày"))
    yield ask("BH-01 và BH-02 khác nhau về thời hạn bảo hành ra sao?", "comparison", SUPPORT, cell(trade.WARRANTY, "BH-01", "Thời hạn"), cell(trade.WARRANTY, "BH-02", "Thời hạn"))
    yield ask("Compare late delivery refunds of the Economy and Priority service levels", "comparison", SUPPORT, cell(globex.CLAIMS, "Economy", "1 to 3 days"), cell(globex.CLAIMS, "Priority", "1 to 3 days"), language="en")
    yield ask("Is the 20-foot rate to Hamburg lower from Hai Phong (LN-014) or from Da Nang (LN-046)?", "comparison", SALES, cell(globex.RATES, "LN-014", "20-foot"), cell(globex.RATES, "LN-046", "20-foot"), language="en")
    yield ask("Đại lý Minh Phát trả giá nào và POS-S1 giá đại lý tháng này bao nhiêu?", "multi_hop", ("role:legal", "role:sales", "role:staff"), said(trade.CONTRACT, "Giá bán cho Bên B là giá đại lý của bảng giá có hiệu lực vào ngày đặt hàng"), cell(trade.PRICES_11, "POS-S1", "Đại lý"))
    yield ask("Sự cố ngày 14/11 gây lỗi gì và lỗi đó phải xử lý thế nào?", "multi_hop", SUPPORT, said(trade.INCIDENT, "khoảng 6% giao dịch thẻ bị lỗi ERR_5003"), cell(trade.API_ERRORS, "ERR_5003", "What to do"))
    yield ask("Chuỗi mua 20 máy POS tháng 11 có được giảm thêm 3% không?", "multi_hop", SALES, said(trade.DISCOUNTS, "mua từ 20 máy POS trong một đơn được giảm thêm 3%"), said(trade.PRICES_11, "không áp dụng đồng thời với chiết khấu chuỗi"))
    yield ask("PTO nghĩa là gì và người mới được nghỉ từ khi nào?", "multi_hop", STAFF, cell(people.GLOSSARY, "PTO", "Tiếng Việt"), said(people.ONBOARDING, "can be taken only after the second month"))
    yield ask("Máy DOA là gì và khách có phải trả phí vận chuyển không?", "multi_hop", SUPPORT, cell(people.GLOSSARY, "DOA", "Tiếng Việt"), said(trade.WARRANTY, "khách không trả phí vận chuyển"))
    yield ask("Lương của E042 sau khi điều chỉnh và lý do điều chỉnh là gì?", "multi_hop", HR, cell(people.SALARIES, "E042", "Cơ bản"), said(people.ANNEX_E042, "hoàn thành 118% chỉ tiêu năm 2025"))


def _policies() -> Iterator[Question]:
    def ask(query: str, who: tuple[str, ...], source: Source) -> Question:
        language = "en" if query.isascii() else "vi"
        return Question(query, ("policy",), who, (source,), source.document.tenant, language)

    yield ask("May I paste confidential contracts into a public chatbot?", STAFF, said(people.SECURITY, "never pasted into public chat services"))
    yield ask("How fast must a security incident be reported?", STAFF, said(people.SECURITY, "within 30 minutes of its discovery"))
    yield ask("When does health insurance begin for new employees?", STAFF, said(people.ONBOARDING, "from the first day after probation"))
    yield ask("Nghỉ việc thì phép chưa nghỉ được trả tiền thế nào?", STAFF, said(people.LEAVE_2026, "tiền lương bình quân của sáu tháng liền trước khi thôi việc"))
    yield ask("Within how many days must a customer file a claim?", SUPPORT, said(globex.CLAIMS, "within 14 days of delivery"))
    yield ask("From which day of illness is a certificate needed?", STAFF, said(globex.LEAVE_2026, "From the third day of illness a certificate is needed"))
    yield ask("Hợp đồng đại lý phải báo trước bao lâu nếu không muốn gia hạn?", LEGAL, said(trade.CONTRACT, "trước ít nhất 60 ngày"))


def _refused() -> Iterator[Question]:
    def secret(query: str, who: tuple[str, ...], document: Document, tenant: str = "acme", day: date = TODAY) -> Question:
        language = "en" if query.isascii() else "vi"
        return Question(query, ("security_sensitive",), who, (), tenant, language, day, (document,))

    yield secret("Lương cơ bản của Phạm Minh Đức là bao nhiêu?", STAFF, people.SALARIES)
    yield secret("E042 lương bao nhiêu?", SALES, people.ANNEX_E042)
    yield secret("Bảng lương tháng 11 năm 2026", SUPPORT, people.SALARIES)
    yield secret("Kế hoạch tái cơ cấu và cắt giảm nhân sự 2027", HR, people.RESTRUCTURING)
    yield secret("Sáp nhập kho Bắc Ninh khi nào?", ("role:legal", "role:hr", "role:sales", "role:staff"), people.RESTRUCTURING)
    yield secret("Hợp đồng với Minh Phát phạt vi phạm bao nhiêu phần trăm?", SALES, trade.CONTRACT)
    yield secret("Giá đại lý POS-S1 tháng 11", STAFF, trade.PRICES_11)
    yield secret("ERR_4021", STAFF, trade.API_ERRORS)
    yield secret("What is the net pay of Olivia Tan?", ("role:hr", "role:staff"), globex.PAYROLL)
    yield secret("Lương của Lê Hoàng Nam", ("role:hr",), people.SALARIES, "globex")
    yield secret("sea freight rate LN-077", STAFF, globex.RATES, "globex")
    yield secret("Mức lương của kỹ sư phần mềm", (), people.SALARIES)

    def nothing(query: str, who: tuple[str, ...], tenant: str = "acme") -> Question:
        language = "en" if query.isascii() else "vi"
        return Question(query, ("unanswerable",), who, (), tenant, language)

    yield nothing("Công ty có hỗ trợ tiền gửi xe máy hằng tháng không?", STAFF)
    yield nothing("What is the dress code on Fridays?", STAFF)
    yield nothing("ERR_9999", ENGINEERING)
    yield nothing("Mã bảo hành BH-12 áp dụng cho máy nào?", SUPPORT)
    yield nothing("Giá linh kiện LK-999", SUPPORT)
    yield nothing("Who is the auditor of the annual accounts?", STAFF, "globex")
    yield nothing("What is the air freight rate to Frankfurt?", SALES, "globex")
