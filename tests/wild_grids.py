"""Tables as people make them, with the facts that must survive, and their writing in each format.

A grid holds cell texts and merges; it says nothing about headers, since most files do not.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from html import escape
from typing import Any

import openpyxl
from office_files import cell, docx_file, odf_file, para, row, run, table
from openpyxl.styles import Font

Merge = tuple[int, int, int, int]  # row, column, row span, column span
Fact = tuple[Any, Any, Any]  # row label(s), column header(s), value or its spellings


@dataclass(frozen=True)
class Wild:
    """One table. ``bold`` are rows set in bold, as headers often are and are no more than that."""

    name: str
    rows: list[list[str]]
    facts: list[Fact]
    merges: list[Merge] = field(default_factory=list)
    bold: frozenset[int] = frozenset()
    title: str = ""
    note: str = ""


def grids() -> list[Wild]:
    """Return every table."""
    return [*_headers(), *_labels(), *_bodies()]


def _headers() -> list[Wild]:
    quarters = [
        ["Chi nhánh", "Quý I", "", "Quý II", ""],
        ["", "Doanh thu", "Chi phí", "Doanh thu", "Chi phí"],
        ["Hà Nội", "1.250", "910", "1.310", "(45)"],
        ["Đà Nẵng", "880", "640", "905", "610"],
        ["Cần Thơ", "430", "395", "(12)", "401"],
        ["Hải Phòng", "515", "470", "538", "466"],
        ["Tổng cộng", "3.075", "2.415", "2.741", "1.432"],
    ]
    return [
        Wild(
            "two header rows, merged, with a total",
            quarters,
            [
                ("Hà Nội", ["Quý II", "Chi phí"], "(45)"),
                ("Cần Thơ", ["Quý II", "Doanh thu"], "(12)"),
                ("Hải Phòng", ["Quý I", "Chi phí"], "470"),
                ("Tổng cộng", ["Quý I", "Doanh thu"], "3.075"),
            ],
            [(0, 0, 2, 1), (0, 1, 1, 2), (0, 3, 1, 2)],
            title="Bảng 2: Kết quả kinh doanh theo chi nhánh",
            note="Ghi chú: số trong ngoặc là số âm.",
        ),
        Wild(
            "three header rows",
            [
                ["Mã hàng", "Năm 2025", "", "", ""],
                ["", "Miền Bắc", "", "Miền Nam", ""],
                ["", "Số lượng", "Đơn giá", "Số lượng", "Đơn giá"],
                ["VT-01", "120", "35.000", "98", "36.500"],
                ["VT-02", "75", "42.000", "81", "43.000"],
                ["VT-03", "310", "8.900", "275", "9.100"],
                ["VT-04", "18", "1.250.000", "22", "1.240.000"],
            ],
            [
                ("VT-02", ["Năm 2025", "Miền Nam", "Đơn giá"], "43.000"),
                ("VT-04", ["Miền Bắc", "Số lượng"], "18"),
            ],
            [(0, 0, 3, 1), (0, 1, 1, 4), (1, 1, 1, 2), (1, 3, 1, 2)],
        ),
        Wild(
            "column numbers under the header",
            [
                ["STT", "Tên thiết bị", "ĐVT", "Số lượng", "Thành tiền"],
                ["(1)", "(2)", "(3)", "(4)", "(5)=(4)x đơn giá"],
                ["1", "Máy in khổ A3", "Cái", "2", "37.400.000"],
                ["2", "Bộ lưu điện 3 kVA", "Bộ", "1", "21.900.000"],
                ["3", "Màn hình 27 inch", "Cái", "12", "58.800.000"],
                ["4", "Bàn phím cơ", "Cái", "12", "9.600.000"],
            ],
            [
                ("Bộ lưu điện 3 kVA", "Thành tiền", "21.900.000"),
                ("Màn hình 27 inch", "Số lượng", "12"),
            ],
        ),
        Wild(
            "units under the header",
            [
                ["Product", "List price", "Weight", "Discount"],
                ["", "(USD)", "(kg)", "(%)"],
                ["Valve DN50", "118.00", "4.2", "12.5"],
                ["Valve DN80", "164.00", "7.9", "10"],
                ["Flange kit", "22.40", "1.1", "0"],
                ["Gasket set", "9.80", "0.3", "5"],
            ],
            [("Valve DN80", ["List price", "USD"], "164.00"), ("Gasket set", "Discount", "5")],
        ),
        Wild(
            "no name above the labels",
            [
                ["", "2023", "2024", "2025"],
                ["Headcount", "412", "455", "501"],
                ["Attrition rate", "9.8%", "8.1%", "7.4%"],
                ["Net income (USD m)", "(3.2)", "1.9", "6.0"],
                ["Training hours per person", "21", "26", "31"],
            ],
            [
                ("Attrition rate", "2024", "8.1%"),
                ("Net income (USD m)", "2023", "(3.2)"),
                ("Headcount", "2025", "501"),
            ],
        ),
        Wild(
            "measures as headers",
            [
                ["Tuyến", "Dưới 5 kg", "5 - 20 kg", "Trên 20 kg"],
                ["Hà Nội - Vinh", "25.000", "68.000", "Liên hệ"],
                ["Hà Nội - Huế", "32.000", "85.000", "Liên hệ"],
                ["Huế - TP.HCM", "38.000", "97.500", "210.000"],
                ["Nội thành", "15.000", "Miễn phí", "-"],
            ],
            [
                ("Hà Nội - Huế", "5 - 20 kg", "85.000"),
                ("Nội thành", "5 - 20 kg", "Miễn phí"),
                ("Hà Nội - Vinh", "Trên 20 kg", "Liên hệ"),
            ],
        ),
        Wild(
            "title and unit rows above, remarks below, all in the grid",
            [
                ["BẢNG GIÁ DỊCH VỤ LƯU KHO NĂM 2026", "", "", ""],
                ["", "", "", "Đơn vị tính: nghìn đồng/tháng"],
                ["Loại kho", "Diện tích tối thiểu", "Giá thường", "Giá cao điểm"],
                ["Kho mát", "20 m²", "185", "240"],
                ["Kho lạnh -18°C", "10 m²", "320", "415"],
                ["Kho thường", "50 m²", "95", "110"],
                ["Kho ngoài trời", "100 m²", "42", "42"],
                ["Ghi chú: giá chưa gồm thuế GTGT.", "", "", ""],
            ],
            [
                ("Kho lạnh -18°C", "Giá cao điểm", "415"),
                ("Kho thường", "Diện tích tối thiểu", "50 m²"),
                ("Kho mát", ["Giá thường", "nghìn đồng"], "185"),
            ],
            [(0, 0, 1, 4), (7, 0, 1, 4)],
        ),
        Wild(
            "days of the week over names",
            [
                ["Ca trực", "Thứ Hai", "Thứ Ba", "Thứ Tư", "Thứ Năm", "Thứ Sáu"],
                ["06:00 - 14:00", "Lan", "Minh", "Lan", "Hùng", "Thảo"],
                ["14:00 - 22:00", "Hùng", "Thảo", "Minh", "Lan", "Dũng"],
                ["22:00 - 06:00", "Dũng", "Dũng", "Phúc", "Phúc", "Phúc"],
            ],
            [("14:00 - 22:00", "Thứ Tư", "Minh"), ("22:00 - 06:00", "Thứ Hai", "Dũng")],
        ),
        Wild(
            "months of a year, in two levels",
            [
                ["Kho", *["2025"] + [""] * 11],
                ["", *[f"Tháng {month}" for month in range(1, 13)]],
                *[
                    [f"Kho {name}", *[str(100 * n + month) for month in range(1, 13)]]
                    for n, name in enumerate(("Yên Viên", "Sóng Thần", "Hoà Khánh"), 1)
                ],
            ],
            [("Kho Sóng Thần", ["2025", "Tháng 9"], "209"), ("Kho Hoà Khánh", "Tháng 12", "312")],
            [(0, 0, 2, 1), (0, 1, 1, 12)],
        ),
    ]


def _labels() -> list[Wild]:
    return [
        Wild(
            "merged group labels",
            [
                ["Khu vực", "Tỉnh", "Phí giao", "Thời gian"],
                ["Miền Bắc", "Hà Nội", "22.000", "1 ngày"],
                ["", "Bắc Ninh", "27.000", "2 ngày"],
                ["", "Lào Cai", "41.000", "3 ngày"],
                ["Miền Nam", "Cần Thơ", "36.000", "3 ngày"],
                ["", "Cà Mau", "52.000", "5 ngày"],
            ],
            [
                (["Miền Bắc", "Lào Cai"], "Phí giao", "41.000"),
                (["Miền Nam", "Cà Mau"], "Thời gian", "5 ngày"),
            ],
            [(1, 0, 3, 1), (4, 0, 2, 1)],
        ),
        Wild(
            "group labels with blanks below them",
            [
                ["Region", "City", "Agents", "Target"],
                ["North", "Oslo", "14", "210"],
                ["", "Bergen", "6", "95"],
                ["", "Tromsø", "3", "40"],
                ["South", "Rome", "22", "330"],
                ["", "Bari", "8", "120"],
            ],
            [(["North", "Tromsø"], "Agents", "3"), (["South", "Bari"], "Target", "120")],
        ),
        Wild(
            "numbered rows with section rows",
            [
                ["STT", "Hạng mục", "Đơn vị", "Định mức", "Ghi chú"],
                ["I", "Văn phòng phẩm", "", "", ""],
                ["1", "Giấy A4", "Ram", "3", "theo quý"],
                ["2", "Mực in", "Hộp", "1", "theo tháng"],
                ["II", "Công tác phí", "", "", ""],
                ["1", "Khách sạn", "Đêm", "900.000", "có hoá đơn"],
                ["2", "Tiền ăn", "Ngày", "250.000", ""],
            ],
            [
                ("Mực in", "Định mức", "1"),
                ("Khách sạn", ["Công tác phí", "Định mức"], "900.000"),
                ("Giấy A4", ["Văn phòng phẩm", "Ghi chú"], "theo quý"),
            ],
        ),
        Wild(
            "sections as merged rows",
            [
                ["Service", "Standard", "Premium"],
                ["Installation", "", ""],
                ["Single unit", "40", "65"],
                ["Up to five units", "150", "230"],
                ["Maintenance", "", ""],
                ["Single unit", "12", "19"],
                ["Up to five units", "48", "77"],
            ],
            [
                ("Single unit", ["Maintenance", "Premium"], "19"),
                ("Up to five units", ["Installation", "Standard"], "150"),
            ],
            [(1, 0, 1, 3), (4, 0, 1, 3)],
        ),
        Wild(
            "sections in the first cell alone",
            [
                ["Chỉ tiêu", "Cuối năm", "Đầu năm"],
                ["Tài sản ngắn hạn", "", ""],
                ["Tiền mặt", "12.400", "9.870"],
                ["Hàng tồn kho", "33.150", "30.020"],
                ["Tài sản dài hạn", "", ""],
                ["Nhà xưởng", "81.000", "84.500"],
                ["Xe cộ", "6.300", "7.100"],
            ],
            [
                ("Hàng tồn kho", ["Tài sản ngắn hạn", "Đầu năm"], "30.020"),
                ("Xe cộ", ["Tài sản dài hạn", "Cuối năm"], "6.300"),
            ],
        ),
        Wild(
            "the header in the first column",
            [
                ["Model", "KX-100", "KX-200", "KX-300"],
                ["Công suất", "1,5 kW", "2,2 kW", "3,7 kW"],
                ["Điện áp", "220 V", "220 V", "380 V"],
                ["Khối lượng", "18 kg", "24 kg", "41 kg"],
                ["Bảo hành", "12 tháng", "24 tháng", "36 tháng"],
            ],
            [("Bảo hành", "KX-200", "24 tháng"), ("Điện áp", "KX-300", "380 V")],
        ),
        Wild(
            "a form of names and values",
            [
                ["Tên công ty", "Công ty TNHH Sông Thu"],
                ["Mã số thuế", "0401234567"],
                ["Vốn điều lệ", "12.000.000.000 đồng"],
                ["Ngày cấp phép", "14/02/2019"],
                ["Người đại diện", "Bà Lê Thị Hoa"],
            ],
            [
                ("Mã số thuế", [], "0401234567"),
                ("Ngày cấp phép", [], "14/02/2019"),
                ("Người đại diện", [], "Bà Lê Thị Hoa"),
            ],
        ),
        Wild(
            "a form in two pairs of columns",
            [
                ["Full name", "Tran Minh Anh", "Employee no.", "E-2041"],
                ["Department", "Finance", "Start date", "01/03/2022"],
                ["Manager", "Vu Thanh Ha", "Grade", "M2"],
            ],
            [("Start date", [], "01/03/2022"), ("Department", [], "Finance")],
        ),
    ]


def _bodies() -> list[Wild]:
    duty = "phải báo cho trưởng bộ phận trước khi rời nơi làm việc và bàn giao tài liệu đang giữ"
    return [
        Wild(
            "words alone",
            [
                ["Hành vi", "Lần đầu", "Lần hai", "Lần ba"],
                ["Đi trễ trên 15 phút", "Nhắc nhở", "Khiển trách", "Trừ lương"],
                ["Nghỉ không phép", "Khiển trách", "Trừ lương", "Sa thải"],
                ["Làm lộ thông tin", "Trừ lương", "Sa thải", "Sa thải"],
                ["Hút thuốc trong kho", "Sa thải", "", ""],
            ],
            [
                ("Nghỉ không phép", "Lần hai", "Trừ lương"),
                ("Hút thuốc trong kho", "Lần đầu", "Sa thải"),
                ("Đi trễ trên 15 phút", "Lần ba", "Trừ lương"),
            ],
        ),
        Wild(
            "words alone, the header bold",
            [
                ["Role", "Approves", "Informs"],
                ["Team lead", "Leave up to three days", "Personnel desk"],
                ["Head of department", "Leave up to ten days", "Personnel desk"],
                ["Director", "Unpaid leave", "Board secretary"],
            ],
            [
                ("Head of department", "Approves", "Leave up to ten days"),
                ("Director", "Informs", "Board secretary"),
            ],
            bold=frozenset({0}),
        ),
        Wild(
            "a very long cell",
            [
                ["Điều khoản", "Nội dung", "Mức phạt"],
                ["Bảo mật", "; ".join(f"({n}) người lao động {duty}" for n in range(1, 30)), "5%"],
                ["Giao hàng", "Giao trong ba ngày làm việc.", "2%"],
            ],
            [("Giao hàng", "Mức phạt", "2%"), ("Bảo mật", "Mức phạt", "5%")],
        ),
        Wild(
            "a merged total and empty cells",
            [
                ["Mã", "Tên hàng", "SL", "Đơn giá", "Thành tiền"],
                ["A1", "Ống thép", "10", "120.000", "1.200.000"],
                ["A2", "Co nối", "", "15.000", ""],
                ["A3", "Van bi", "4", "210.000", "840.000"],
                ["Cộng tiền hàng", "", "", "", "2.040.000"],
                ["Thuế GTGT 8%", "", "", "", "163.200"],
            ],
            [
                ("Van bi", "Thành tiền", "840.000"),
                ("Co nối", "Đơn giá", "15.000"),
                ("Thuế GTGT 8%", "Thành tiền", "163.200"),
            ],
            [(4, 0, 1, 4), (5, 0, 1, 4)],
        ),
        Wild(
            "a value over several rows",
            [
                ["Gói", "Dung lượng", "Giá", "Hỗ trợ"],
                ["Basic", "10 GB", "$4", "email"],
                ["Plus", "100 GB", "$9", "24/7 phone"],
                ["Max", "2 TB", "$19", ""],
            ],
            [("Max", "Hỗ trợ", "24/7 phone"), ("Plus", "Giá", "$9")],
            [(2, 3, 2, 1)],
        ),
        Wild(
            "forty columns",
            [
                ["SKU", *[f"Store {n:02d}" for n in range(1, 41)]],
                *[[f"P-{r}", *[str(r * 1000 + c) for c in range(1, 41)]] for r in range(1, 6)],
            ],
            [("P-3", "Store 37", "3037"), ("P-5", "Store 08", "5008")],
        ),
        Wild(
            "dates, percents and signs",
            [
                ["Hợp đồng", "Ngày ký", "Tỷ lệ", "Chênh lệch", "Trạng thái"],
                ["HĐ-07/2025", "05/04/2025", "12,5%", "-1.200", "✓"],
                ["HĐ-11/2025", "19/05/2025", "0,8%", "+350", "✗"],
                ["HĐ-02/2026", "30/01/2026", "100%", "(75)", "✓"],
            ],
            [
                ("HĐ-11/2025", "Ngày ký", "19/05/2025"),
                ("HĐ-02/2026", "Chênh lệch", "(75)"),
                ("HĐ-07/2025", "Tỷ lệ", "12,5%"),
            ],
        ),
        Wild(
            "a header and one row",
            [
                ["Kỳ hạn", "Lãi suất", "Phí trả trước"],
                ["12 tháng", "7,2%/năm", "2%"],
            ],
            [("12 tháng", "Lãi suất", "7,2%/năm")],
        ),
        Wild(
            "codes alone",
            [
                ["Code", "Replaced by", "Valid from"],
                ["ERR_1001", "ERR_2001", "v3.2"],
                ["ERR_1002", "ERR_2002", "v3.2"],
                ["ERR_1009", "ERR_2017", "v4.0"],
            ],
            [("ERR_1009", "Replaced by", "ERR_2017")],
        ),
    ]


# --- the formats ---------------------------------------------------------------------------------


def _hidden(wild: Wild) -> set[tuple[int, int]]:
    return {
        (r, c)
        for top, left, height, width in wild.merges
        for r in range(top, top + height)
        for c in range(left, left + width)
        if (r, c) != (top, left)
    }


def _spans(wild: Wild) -> dict[tuple[int, int], tuple[int, int]]:
    return {(top, left): (height, width) for top, left, height, width in wild.merges}


def as_html(wild: Wild) -> bytes:
    """A page whose table has td alone."""
    lines = ""
    for r, texts in enumerate(wild.rows):
        lines += "<tr>"
        for c, text in enumerate(texts):
            if (r, c) not in _hidden(wild):
                height, width = _spans(wild).get((r, c), (1, 1))
                inner = f"<b>{escape(text)}</b>" if r in wild.bold and text else escape(text)
                lines += f'<td rowspan="{height}" colspan="{width}">{inner}</td>'
        lines += "</tr>"
    parts = [f"<p>{escape(wild.title)}</p>", f"<table>{lines}</table>", f"<p>{wild.note}</p>"]
    return f"<html><body><h1>Phụ lục</h1>{''.join(parts)}</body></html>".encode()


def as_docx(wild: Wild) -> bytes:
    """A Word file without any mark of a header."""
    lines = []
    for r, texts in enumerate(wild.rows):
        cells, c = [], 0
        while c < len(texts):
            height, width = _spans(wild).get((r, c), (1, 1))
            mark = '<w:vMerge w:val="restart"/>' if height > 1 else ""
            above = [w for t, left, h, w in wild.merges if t < r < t + h and left == c]
            if above:
                width, mark = above[0], "<w:vMerge/>"
            text = escape(texts[c], quote=False)
            inner = para(run(text, "<w:b/>") if r in wild.bold else text)
            cells.append(cell(inner, f'<w:gridSpan w:val="{width}"/>{mark}'))
            c += width
        lines.append(row(*cells))
    parts = [para("Phụ lục", style="u1"), para(wild.title), table(*lines), para(wild.note)]
    return docx_file("".join(parts))


def as_xlsx(wild: Wild) -> bytes:
    """A sheet with the title two rows above the table, and figures kept as text."""
    book = openpyxl.Workbook()
    sheet = book.active
    top = 1
    if wild.title:
        sheet.cell(1, 1, wild.title)
        top = 3
    for r, texts in enumerate(wild.rows):
        for c, text in enumerate(texts):
            if text and (r, c) not in _hidden(wild):
                found = sheet.cell(top + r, 1 + c, text)
                if r in wild.bold:
                    found.font = Font(bold=True)
    for t, left, height, width in wild.merges:
        sheet.merge_cells(
            start_row=top + t,
            start_column=1 + left,
            end_row=top + t + height - 1,
            end_column=left + width,
        )
    if wild.note:
        sheet.cell(top + len(wild.rows) + 1, 1, wild.note)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def as_csv(wild: Wild) -> bytes:
    """What a spreadsheet exports: merged cells are blanks."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";")
    if wild.title:
        writer.writerows([[wild.title], []])
    hidden = _hidden(wild)
    for r, texts in enumerate(wild.rows):
        writer.writerow(["" if (r, c) in hidden else text for c, text in enumerate(texts)])
    return out.getvalue().encode("utf-8-sig")


def as_odt(wild: Wild) -> bytes:
    """An OpenDocument text."""
    lines = ""
    for r, texts in enumerate(wild.rows):
        lines += "<table:table-row>"
        for c, text in enumerate(texts):
            if (r, c) in _hidden(wild):
                lines += "<table:covered-table-cell/>"
                continue
            height, width = _spans(wild).get((r, c), (1, 1))
            lines += (
                f'<table:table-cell table:number-rows-spanned="{height}" '
                f'table:number-columns-spanned="{width}">'
                f"<text:p>{escape(text)}</text:p></table:table-cell>"
            )
        lines += "</table:table-row>"
    body = (
        f'<text:h text:outline-level="1">Phụ lục</text:h><text:p>{escape(wild.title)}</text:p>'
        f"<table:table>{lines}</table:table><text:p>{escape(wild.note)}</text:p>"
    )
    return odf_file("text", body)


FORMATS = {
    ".html": as_html,
    ".docx": as_docx,
    ".xlsx": as_xlsx,
    ".csv": as_csv,
    ".odt": as_odt,
}
