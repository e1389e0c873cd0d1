"""Acme's documents about customers: prices, refunds, warranty, support, API, contract."""

# One row of a table and one question stay one line.
# fmt: off

from __future__ import annotations

from company.model import LEFT, UP, C, Document, H, L, P, T

SALES = ["role:sales"]
SERVICE = ["role:support", "role:sales"]

REFUND = Document(
    tenant="acme",
    uri="support/chinh-sach-hoan-tien.html",
    blocks=(
        H(1, "Chính sách hoàn tiền theo gói dịch vụ AcmePay"),
        P("Chính sách này áp dụng cho khách hàng thuê bao phần mềm AcmePay từ ngày 15/01/2026. Thiết bị phần cứng theo điều khoản bảo hành riêng, không theo chính sách này."),
        H(2, "1. Mức hoàn tiền"),
        P("Khách hàng được hoàn tiền tùy theo gói và thời điểm gửi yêu cầu, tính từ ngày kích hoạt."),
        T(
            (
                ("Gói", "Phí tháng", "Mức hoàn theo thời điểm yêu cầu", LEFT, LEFT, "Người duyệt"),
                (UP, UP, "Trong 14 ngày", "Từ ngày 15 đến ngày 30", "Sau 30 ngày", UP),
                ("Khởi đầu", "299.000 đ", "100%", "Không hoàn", "Không hoàn", "Nhân viên hỗ trợ"),
                ("Chuyên nghiệp", "790.000 đ", "100%", "50%", "Theo số tháng chưa dùng, trừ phí 10%", "Trưởng nhóm hỗ trợ"),
                ("Doanh nghiệp", "2.450.000 đ", "100%", "75%", "Theo hợp đồng riêng", "Giám đốc kinh doanh"),
                ("Trường học", "99.000 đ", "100%", "100% trong học kỳ đầu", "40%", "Trưởng nhóm hỗ trợ"),
            ),
            caption="Bảng 1. Mức hoàn tiền theo gói",
            header_rows=2,
        ),
        P(
            "Khách nâng gói trong kỳ thì ngày kích hoạt được tính lại từ ngày nâng gói. Khách hạ gói không được hoàn phần chênh lệch của tháng đang dùng, nhưng được bảo lưu thành điểm để trừ vào kỳ sau."
        ),
        H(2, "2. Cách gửi yêu cầu"),
        L(
            (
                "Khách gửi yêu cầu trong mục Thanh toán của trang quản trị, hoặc gọi tổng đài 1900 6868.",
                "Nhân viên hỗ trợ kiểm tra ngày kích hoạt và lịch sử giao dịch trong vòng 1 ngày làm việc.",
                "Tiền được hoàn về đúng phương thức đã thanh toán trong 5 đến 7 ngày làm việc; thẻ quốc tế có thể mất đến 15 ngày.",
            ),
            ordered=True,
        ),
        H(2, "3. Trường hợp không hoàn tiền"),
        P("Không hoàn tiền khi tài khoản bị khóa vì gian lận, khi khách đã xuất quá 500 hóa đơn điện tử trong kỳ, hoặc khi mua qua đại lý mà đại lý đã hoàn."),
        P("Khách không đồng ý với kết quả có thể khiếu nại lên trưởng nhóm hỗ trợ trong vòng 10 ngày; quyết định của trưởng nhóm được gửi bằng thư và nêu rõ lý do."),
    ),
)

WARRANTY = Document(
    tenant="acme",
    uri="support/dieu-khoan-bao-hanh.docx",
    via="sidecar",
    stated={"title": "Điều khoản bảo hành thiết bị", "collection": "ho-tro", "acl": ["role:support", "role:sales", "role:staff"], "valid_from": "2026-01-01", "language": "vi"},
    blocks=(
        H(1, "Điều khoản bảo hành thiết bị Acme"),
        P("Acme bảo hành miễn phí các thiết bị do Acme bán ra tại Việt Nam kể từ ngày 01/01/2026. Thời hạn bảo hành tính từ ngày ghi trên hóa đơn điện tử."),
        H(2, "1. Thời hạn và phạm vi"),
        T(
            (
                ("Nhóm", "Mã bảo hành", "Thiết bị", "Thời hạn", "Nơi sửa chữa", "Máy thay thế"),
                ("Máy bán hàng", "BH-01", "Máy POS cảm ứng POS-S1, POS-M2", "24 tháng", "Tại cửa hàng", "Có, trong 4 giờ"),
                (UP, "BH-02", "Máy POS cầm tay POS-X3", "18 tháng", "Trung tâm bảo hành", "Có, trong ngày"),
                (UP, "BH-03", "Máy tính bảng TAB-10", "12 tháng", "Trung tâm bảo hành", "Không"),
                ("Thiết bị in", "BH-04", "Máy in hóa đơn PRN-80", "15 tháng", "Tại cửa hàng", "Có, trong 2 ngày"),
                (UP, "BH-05", "Đầu in nhiệt và dao cắt giấy", "6 tháng hoặc 50 km giấy", "Trung tâm bảo hành", "Không"),
                ("Phụ kiện", "BH-06", "Đầu đọc mã vạch SCN-2D", "36 tháng", "Đổi mới tại quầy", "Đổi mới ngay"),
                (UP, "BH-07", "Pin, bộ nguồn, dây cáp", "3 tháng", "Đổi mới tại quầy", "Đổi mới ngay"),
            ),
            caption="Bảng 1. Thời hạn bảo hành theo mã",
            label_col=1,
        ),
        P(
            "Thời hạn bảo hành của linh kiện thay thế bằng phần còn lại của máy, nhưng không ngắn hơn 90 ngày. Khi máy được đổi mới, thời hạn tính lại từ đầu và hóa đơn cũ vẫn dùng để đối chiếu."
        ),
        P("Bảo hành tại cửa hàng áp dụng trong bán kính 30 km tính từ trung tâm bảo hành gần nhất; ngoài phạm vi đó khách gửi máy qua đơn vị vận chuyển, Acme chịu phí chiều về."),
        H(2, "2. Trường hợp từ chối bảo hành"),
        L(
            (
                "Tem bảo hành bị rách, bị bóc hoặc số sê-ri không đọc được.",
                "Máy vào nước, cháy do điện áp ngoài khoảng 200 V đến 240 V, hoặc rơi từ độ cao trên 80 cm.",
                "Khách tự cài hệ điều hành khác hoặc tự thay linh kiện không do Acme cung cấp.",
            )
        ),
        H(2, "3. Hỏng ngay khi mở hộp"),
        P("Máy hỏng ngay khi mở hộp được đổi máy mới cùng loại trong vòng 7 ngày kể từ ngày nhận, khách không trả phí vận chuyển."),
        H(2, "4. Thời gian xử lý"),
        P(
            "Trung tâm bảo hành trả máy trong 5 ngày làm việc; nếu phải chờ linh kiện nhập khẩu thì báo khách ngày hẹn mới và không quá 21 ngày. Quá hẹn, mỗi ngày chậm khách được cộng thêm 3 ngày bảo hành."
        ),
        P("Khách cần có số RMA do tổng đài cấp trước khi gửi máy; kiện hàng không ghi số RMA bị từ chối nhận."),
    ),
)


def _prices(month: int, name: str, valid: tuple[str, str], rows: tuple[tuple[str, ...], ...], note: str) -> Document:
    code = f"GIA-2026-{month}"
    return Document(
        tenant="acme",
        uri=f"sales/bang-gia-2026-{month}.xlsx",
        via="manifest",
        stated={"title": f"Bảng giá {name}", "collection": "bang-gia", "acl": SALES, "valid_from": valid[0], "valid_to": valid[1], "language": "vi", "code": code},
        blocks=(
            H(1, f"Bảng giá thiết bị {name} ({code})"),
            P(f"Đơn vị: đồng, chưa gồm thuế GTGT. {note}"),
            T((("Mã hàng", "Tên hàng", "Giá bán", LEFT, "Đặt tối thiểu"), (UP, UP, "Khách lẻ", "Đại lý", UP), *rows), sheet=code, header_rows=2),
        ),
    )


PRICES_10 = _prices(
    10,
    "tháng 10 năm 2026",
    ("2026-10-01", "2026-10-31"),
    (
        ("POS-S1", "Máy POS cảm ứng 15 inch", "8.900.000", "7.650.000", "2 máy"),
        ("POS-M2", "Máy POS hai màn hình", "12.400.000", "10.900.000", "2 máy"),
        ("POS-X3", "Máy POS cầm tay in liền", "5.750.000", "4.980.000", "5 máy"),
        ("PRN-80", "Máy in hóa đơn khổ 80 mm", "2.150.000", "1.780.000", "10 máy"),
        ("SCN-2D", "Đầu đọc mã vạch 2D", "1.390.000", "1.120.000", "10 chiếc"),
        ("TAB-10", "Máy tính bảng gọi món 10 inch", "4.600.000", "4.050.000", "5 máy"),
        ("KDS-15", "Màn hình bếp 15 inch", "6.300.000", "5.520.000", "3 máy"),
    ),
    "Tặng kèm 20 cuộn giấy in cho mỗi máy in.",
)

PRICES_11 = _prices(
    11,
    "tháng 11 năm 2026",
    ("2026-11-01", "2026-11-30"),
    (
        ("POS-S1", "Máy POS cảm ứng 15 inch", "8.500.000", "7.300.000", "2 máy"),
        ("POS-M2", "Máy POS hai màn hình", "11.900.000", "10.450.000", "2 máy"),
        ("POS-X3", "Máy POS cầm tay in liền", "5.490.000", "4.790.000", "5 máy"),
        ("PRN-80", "Máy in hóa đơn khổ 80 mm", "2.050.000", "1.690.000", "10 máy"),
        ("SCN-2D", "Đầu đọc mã vạch 2D", "1.350.000", "1.090.000", "10 chiếc"),
        ("TAB-10", "Máy tính bảng gọi món 10 inch", "4.450.000", "3.920.000", "5 máy"),
        ("KDS-15", "Màn hình bếp 15 inch", "6.150.000", "5.380.000", "3 máy"),
    ),
    "Giá kích cầu cuối năm, không áp dụng đồng thời với chiết khấu chuỗi.",
)

PRICES_12 = _prices(
    12,
    "tháng 12 năm 2026",
    ("2026-12-01", "2026-12-31"),
    (
        ("POS-S1", "Máy POS cảm ứng 15 inch", "8.200.000", "7.050.000", "2 máy"),
        ("POS-M2", "Máy POS hai màn hình", "11.500.000", "10.100.000", "2 máy"),
        ("POS-X3", "Máy POS cầm tay in liền", "5.290.000", "4.620.000", "4 máy"),
        ("PRN-80", "Máy in hóa đơn khổ 80 mm", "1.990.000", "1.640.000", "10 máy"),
        ("SCN-2D", "Đầu đọc mã vạch 2D", "1.290.000", "1.040.000", "8 chiếc"),
        ("TAB-10", "Máy tính bảng gọi món 10 inch", "4.390.000", "3.860.000", "5 máy"),
        ("KDS-15", "Màn hình bếp 15 inch", "5.990.000", "5.240.000", "3 máy"),
        ("POS-X5", "Máy POS cầm tay 5G", "7.450.000", "6.600.000", "5 máy"),
    ),
    "Mã POS-X5 mở bán từ ngày 10/12/2026.",
)

DISCOUNTS = Document(
    tenant="acme",
    uri="sales/chiet-khau-dai-ly.md",
    via="front",
    stated={"title": "Chính sách chiết khấu đại lý", "collection": "bang-gia", "acl": SALES, "valid_from": "2026-07-01", "language": "vi"},
    blocks=(
        H(1, "Chính sách chiết khấu đại lý"),
        P("Áp dụng từ ngày 01/07/2026 cho đại lý đã ký hợp đồng khung. Chiết khấu tính trên doanh số lũy kế của quý, trước thuế, và được trừ vào đơn hàng đầu tiên của quý sau."),
        T(
            (
                ("Cấp đại lý", "Doanh số quý", "Chiết khấu", "Hạn mức công nợ"),
                ("Cấp 1", "từ 3 tỷ đồng", "12%", "1,5 tỷ đồng, 45 ngày"),
                ("Cấp 2", "từ 1 đến dưới 3 tỷ đồng", "8%", "500 triệu đồng, 30 ngày"),
                ("Cấp 3", "dưới 1 tỷ đồng", "4%", "Không có công nợ"),
            )
        ),
        P("Doanh số được tính theo hóa đơn đã thanh toán trong quý. Hàng trả lại làm giảm doanh số của quý mà hàng được trả, không tính lại quý cũ."),
        H(2, "Thưởng chuỗi cửa hàng"),
        P("Khách chuỗi mua từ 20 máy POS trong một đơn được giảm thêm 3%, trừ khi bảng giá của tháng nói khác."),
        H(2, "Phạt vi phạm vùng"),
        P("Đại lý bán ngoài vùng được giao bị trừ 2% chiết khấu của quý; tái phạm lần thứ ba thì chấm dứt hợp đồng khung."),
    ),
)

_MODELS = ("POS-S1", "POS-M2", "POS-X3", "PRN-80", "PRN-58", "SCN-2D", "TAB-10", "KDS-15", "CDR-04", "SCL-30")
_PARTS = (
    ("Bo mạch chủ", 1_450),
    ("Bộ nguồn", 320),
    ("Vỏ máy", 410),
    ("Bộ ốc và chân đế", 65),
    ("Cáp dữ liệu", 90),
    ("Màn hình", 1_180),
    ("Tấm cảm ứng", 760),
    ("Pin dự phòng", 540),
    ("Loa trong", 110),
    ("Mô-đun wifi", 275),
    ("Quạt tản nhiệt", 145),
    ("Cổng mạng LAN", 130),
    ("Bàn phím phụ", 230),
    ("Đèn báo trạng thái", 48),
    ("Nhãn sê-ri", 15),
)
_DELIVERY = ("Có sẵn", "3 ngày", "7 ngày", "14 ngày", "30 ngày, hàng nhập")


def _spare_parts() -> tuple[tuple[str, ...], ...]:
    rows = []
    for m, model in enumerate(_MODELS):
        for p, (part, thousands) in enumerate(_PARTS):
            number = m * len(_PARTS) + p + 1
            price = thousands + 13 * m + (7 * number) % 11  # a price of its own for each row
            stock = (number * 37) % 90
            rows.append((f"LK-{number:03d}", f"{part} {model}", model, f"{price:,}.000".replace(",", "."), str(stock), _DELIVERY[(number * 3) % len(_DELIVERY)]))
    return tuple(rows)


SPARE_PARTS = Document(
    tenant="acme",
    uri="support/linh-kien.csv",
    via="sidecar",
    stated={"title": "Danh mục linh kiện thay thế", "collection": "ho-tro", "acl": SERVICE, "valid_from": "2026-06-01", "language": "vi"},
    blocks=(T((("Mã linh kiện", "Tên linh kiện", "Dùng cho máy", "Giá (đồng)", "Tồn kho", "Thời gian giao"), *_spare_parts())),),
)

API_ERRORS = Document(
    tenant="acme",
    uri="engineering/api-errors.md",
    via="front",
    stated={"title": "AcmePay API error guide", "collection": "engineering", "acl": ["role:engineering", "role:support"], "valid_from": "2026-05-01", "language": "en"},
    blocks=(
        H(1, "AcmePay API error guide"),
        P(
            "Every response of the AcmePay API v3 carries an HTTP status and, in its body, an error code. Log both together with the request id; the support desk asks for the request id first."
        ),
        C('{\n  "error": {"code": "ERR_4010", "message": "signature mismatch"},\n  "request_id": "req_7f3a91"\n}'),
        H(2, "Error codes"),
        T(
            (
                ("Code", "HTTP", "Meaning", "What to do", "Retry"),
                ("ERR_4001", "400", "The amount is not a whole number of dong", "Send the amount as an integer", "No"),
                ("ERR_4010", "401", "The signature does not match the body", "Sign the raw bytes, before any re-encoding", "No"),
                ("ERR_4021", "402", "The terminal is not paired with the merchant account", "Pair the terminal again under Settings > Devices", "After pairing"),
                ("ERR_4022", "402", "The subscription of the merchant has lapsed", "Renew the plan; access returns within 10 minutes", "After renewal"),
                ("ERR_4035", "403", "The API key may not issue refunds", "Ask the account owner for the refunds scope", "No"),
                ("ERR_4091", "409", "A payment with this idempotency key exists with another amount", "Use a new key for a new payment", "No"),
                ("ERR_4290", "429", "More than 120 requests in one minute", "Wait for the seconds given in Retry-After", "Yes, with back-off"),
                ("ERR_5003", "503", "The card network does not answer", "Show the offline screen and queue the payment", "Yes, at most 5 times"),
                ("ERR_5040", "504", "The bank did not confirm in 30 seconds", "Query the payment before charging again", "Query first"),
            ),
            caption="Table 1. Error codes of API v3",
        ),
        P(
            "Errors of the 4xx family are caused by the request and do not go away by repeating it, apart from the rate limit. Errors of the 5xx family are caused by us or by a bank; repeat them with growing pauses and never charge twice without asking for the state of the payment."
        ),
        H(2, "Rate limits"),
        P(
            "A key may send 120 requests in a minute and 5,000 in an hour. Above that the API answers 429 with the header Retry-After in seconds. Batch endpoints count as one request for each 50 items."
        ),
        P("Higher limits are granted on the Enterprise plan only, on request to api@acme.example with two weeks' notice."),
        H(2, "Idempotency"),
        P("Send an Idempotency-Key with every POST. Keys are remembered for 48 hours; the same key with the same body returns the first answer again."),
        H(2, "Webhooks"),
        P(
            "A webhook that is not answered with status 200 within 8 seconds is sent again after 1, 5, 30 and 120 minutes, then dropped. Dropped events are listed in the dashboard for 14 days."
        ),
    ),
)

CONTRACT = Document(
    tenant="acme",
    uri="legal/hop-dong-khung-dai-ly.pdf",
    via="sidecar",
    stated={
        "title": "Hợp đồng khung đại lý 2026",
        "collection": "phap-che",
        "acl": ["role:legal"],
        "valid_from": "2026-01-15",
        "valid_to": "2027-01-14",
        "language": "vi",
        "counterparty": "Minh Phát",
    },
    blocks=(
        H(1, "Hợp đồng khung đại lý số HĐK-2026-017"),
        P("Hôm nay, ngày 15 tháng 01 năm 2026, tại Hà Nội, Bên A là Công ty Cổ phần Acme Việt Nam và Bên B là Công ty TNHH Thương mại Minh Phát cùng thỏa thuận các điều khoản sau."),
        H(2, "Điều 1. Đối tượng của hợp đồng"),
        P("Bên A giao cho Bên B quyền phân phối không độc quyền các thiết bị POS, máy in và phụ kiện tại các tỉnh Bắc Ninh, Bắc Giang và Thái Nguyên."),
        P("Bên B được dùng nhãn hiệu Acme trên biển hiệu và tài liệu bán hàng theo bộ nhận diện do Bên A cung cấp, không được đăng ký nhãn hiệu hay tên miền có chữ Acme dưới tên mình."),
        H(2, "Điều 2. Thời hạn"),
        P("Hợp đồng có hiệu lực 12 tháng kể từ ngày ký và tự động gia hạn thêm 12 tháng nếu không bên nào thông báo chấm dứt trước ít nhất 60 ngày."),
        H(2, "Điều 3. Giá và chiết khấu"),
        P("3.1. Giá bán cho Bên B là giá đại lý của bảng giá có hiệu lực vào ngày đặt hàng."),
        P("3.2. Chiết khấu theo doanh số quý theo chính sách chiết khấu đại lý hiện hành của Bên A."),
        P("3.3. Bên A thông báo bảng giá mới bằng thư điện tử trước ít nhất 5 ngày. Đơn hàng đã xác nhận trước ngày bảng giá mới có hiệu lực được giữ giá cũ nếu giao trong cùng tháng."),
        H(2, "Điều 4. Thanh toán"),
        P("4.1. Bên B thanh toán trong vòng 30 ngày kể từ ngày xuất hóa đơn."),
        P("4.2. Chậm thanh toán, Bên B chịu lãi 0,05% mỗi ngày trên số tiền chậm trả."),
        P("4.3. Khi công nợ vượt hạn mức, Bên A có quyền tạm dừng nhận đơn hàng mới cho đến khi Bên B thanh toán phần vượt."),
        H(2, "Điều 5. Giao hàng"),
        P("Bên A giao hàng trong 5 ngày làm việc tới kho của Bên B; đơn hàng trên 200 triệu đồng được miễn phí vận chuyển."),
        P(
            "Bên B kiểm đếm số lượng và tình trạng bên ngoài ngay khi nhận; khiếu nại về thiếu hàng hoặc hư hỏng bên ngoài phải gửi trong 24 giờ. Rủi ro chuyển sang Bên B từ khi ký biên bản giao nhận."
        ),
        H(2, "Điều 6. Bảo hành"),
        P("Bên B tiếp nhận máy bảo hành của khách cuối và chuyển về trung tâm của Bên A trong 2 ngày làm việc; Bên A trả phí tiếp nhận 80.000 đồng cho mỗi máy."),
        H(2, "Điều 7. Bảo mật"),
        P("Hai bên giữ bí mật giá đại lý và dữ liệu khách hàng trong thời hạn hợp đồng và 3 năm sau khi hợp đồng chấm dứt."),
        H(2, "Điều 8. Phạt vi phạm và bồi thường"),
        P("Bên vi phạm chịu phạt 8% giá trị phần nghĩa vụ bị vi phạm và bồi thường toàn bộ thiệt hại thực tế phát sinh."),
        H(2, "Điều 9. Chấm dứt hợp đồng"),
        P("Một bên được đơn phương chấm dứt hợp đồng khi bên kia chậm thực hiện nghĩa vụ quá 45 ngày dù đã được nhắc bằng văn bản hai lần."),
        P("Khi hợp đồng chấm dứt, Bên A mua lại hàng tồn còn nguyên hộp trong 60 ngày với giá bằng 90% giá đã bán, trừ các mặt hàng đã ngừng sản xuất trên 12 tháng."),
        P("Bên B trả lại biển hiệu, máy trưng bày và danh sách khách hàng đang bảo hành trong 15 ngày làm việc."),
        H(2, "Điều 10. Giải quyết tranh chấp"),
        P("Tranh chấp không thương lượng được trong 30 ngày được giải quyết tại Trung tâm Trọng tài Quốc tế Việt Nam (VIAC), địa điểm trọng tài là Hà Nội."),
        P("Hợp đồng lập thành bốn bản tiếng Việt có giá trị như nhau, mỗi bên giữ hai bản. Mọi sửa đổi phải lập thành phụ lục có chữ ký của người đại diện hai bên."),
        H(2, "Phụ lục 1. Cam kết mức dịch vụ"),
        P("Phụ lục 1 về cam kết mức dịch vụ: tổng đài kỹ thuật trả lời trong 30 giây với 90% cuộc gọi; sự cố mức 1 được khắc phục trong 4 giờ."),
    ),
)

FAQ = Document(
    tenant="acme",
    uri="support/faq.html",
    blocks=(
        H(1, "Câu hỏi thường gặp / FAQ"),
        H(2, "Máy POS không bật được thì làm thế nào?"),
        P("Giữ nút nguồn 12 giây rồi thả ra, chờ đèn xanh nháy ba lần. Nếu đèn đỏ sáng liên tục, hãy kiểm tra bộ nguồn 24 V và gọi 1900 6868."),
        H(2, "Làm sao đổi mật khẩu nhân viên thu ngân?"),
        P("Chủ cửa hàng vào Cài đặt, chọn Nhân viên, bấm Đặt lại mã PIN. Mã PIN mới gồm 6 chữ số và có hiệu lực ngay trên mọi máy."),
        H(2, "Hóa đơn điện tử bị gửi nhầm địa chỉ thư thì sửa thế nào?"),
        P("Trong vòng 24 giờ, bấm Gửi lại và nhập địa chỉ đúng. Sau 24 giờ phải lập biên bản điều chỉnh theo mẫu 04/SS-HĐĐT."),
        H(2, "Khách muốn trả góp thì làm thế nào?"),
        P(
            "Chọn Trả góp ở màn hình thanh toán, nhập số thẻ tín dụng và chọn kỳ hạn 3, 6 hoặc 12 tháng. Đơn hàng tối thiểu 3 triệu đồng; phí chuyển đổi 1,5% do cửa hàng hoặc khách chịu tùy cài đặt."
        ),
        H(2, "Báo cáo doanh thu cuối ngày gửi vào đâu?"),
        P("Báo cáo được gửi lúc 23 giờ 30 tới thư của chủ cửa hàng và nằm trong mục Báo cáo của trang quản trị trong 24 tháng."),
        H(2, "How do I connect a kitchen printer?"),
        P("Connect the printer to the same network, open Settings > Printers and scan the QR code on its underside. Printers older than firmware 2.8 need an update first."),
        H(2, "Does the terminal work without internet?"),
        P("Yes. The terminal keeps up to 2,000 sales offline for 72 hours and sends them when the connection is back. Card payments need a connection."),
        H(2, "When is the hotline open?"),
        P("The hotline 1900 6868 is open from 7:00 to 23:00 every day, including public holidays; outside these hours leave a message and we call back by 8:30."),
    ),
)

INCIDENT = Document(
    tenant="acme",
    uri="support/su-co-2026-11-14.eml",
    via="manifest",
    stated={"title": "Báo cáo sự cố ngày 14/11/2026", "collection": "ho-tro", "acl": ["role:support", "role:engineering"], "valid_from": "2026-11-15", "language": "vi"},
    mail={"From": "Tran Quoc Huy <huy.tran@acme.example>", "To": "support@acme.example", "Date": "Sun, 15 Nov 2026 09:20:00 +0700", "Message-ID": "<20261115092000.0042@acme.example>"},
    blocks=(
        H(1, "Báo cáo sự cố INC-2026-118: thanh toán thẻ gián đoạn ngày 14/11/2026"),
        P("Chào các bạn, đây là tóm tắt sự cố tối thứ Bảy để trả lời khách hàng thống nhất."),
        P("Từ 18 giờ 42 đến 19 giờ 27 ngày 14/11/2026, khoảng 6% giao dịch thẻ bị lỗi ERR_5003. Ví điện tử và tiền mặt không bị ảnh hưởng."),
        P("Nguyên nhân là chứng thư số của cổng kết nối thẻ hết hạn mà lịch gia hạn tự động bị tắt sau lần nâng cấp ngày 02/11/2026."),
        L(("Đã bật lại gia hạn tự động và thêm cảnh báo trước 21 ngày.", "Khách gói Doanh nghiệp bị ảnh hưởng được tặng 5 ngày sử dụng.", "Không có giao dịch nào bị trừ tiền hai lần.")),
        P("Trần Quốc Huy, nhóm kỹ thuật"),
    ),
)

DOCUMENTS = (REFUND, WARRANTY, PRICES_10, PRICES_11, PRICES_12, DISCOUNTS, SPARE_PARTS, API_ERRORS, CONTRACT, FAQ, INCIDENT)
