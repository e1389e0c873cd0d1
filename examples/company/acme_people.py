"""Acme's documents about people: leave, pay, notices, onboarding, security, travel."""

# One row of a table and one question stay one line.
# fmt: off

from __future__ import annotations

from company.model import LEFT, UP, Block, Document, H, L, P, T

STAFF = ["role:staff"]
HR = ["role:hr"]


def _leave(year: int, decision: str, days: tuple[str, str, str, str], carried: tuple[str, str, str, str], notice: str, approval: str, news: str, marriage: str) -> tuple[Block, ...]:
    return (
        H(1, f"Quy định nghỉ phép năm {year}"),
        P(f"Ban hành kèm theo Quyết định số {decision} của Tổng Giám đốc Công ty Cổ phần Acme Việt Nam. {news}"),
        H(2, "1. Phạm vi áp dụng"),
        P(
            f"Quy định này áp dụng cho toàn bộ người lao động ký hợp đồng từ ba tháng trở lên tại văn phòng Hà Nội, văn phòng Thành phố Hồ Chí Minh và kho Bắc Ninh trong năm {year}. Cộng tác viên và thực tập sinh thực hiện theo thỏa thuận riêng với Phòng Nhân sự."
        ),
        H(2, "2. Số ngày phép năm"),
        P("Ngày phép là ngày làm việc, không tính ngày nghỉ hằng tuần và ngày lễ. Người làm bán thời gian được tính theo tỷ lệ giờ làm việc ghi trong hợp đồng."),
        P("Số ngày phép năm hưởng nguyên lương được tính theo thâm niên liên tục tại công ty, chốt vào ngày 31 tháng 12 của năm trước."),
        T(
            (
                ("Thâm niên", f"Số ngày phép năm {year}", "Được chuyển sang năm sau"),
                ("Dưới 1 năm", days[0], carried[0]),
                ("Từ 1 đến dưới 5 năm", days[1], carried[1]),
                ("Từ 5 đến dưới 10 năm", days[2], carried[2]),
                ("Từ 10 năm trở lên", days[3], carried[3]),
            ),
            caption=f"Bảng 1. Số ngày phép theo thâm niên, áp dụng năm {year}",
        ),
        H(2, "3. Nghỉ việc riêng có hưởng lương"),
        T(
            (
                ("Loại nghỉ", "Số ngày", "Giấy tờ cần nộp"),
                ("Bản thân kết hôn", marriage, "Bản sao giấy đăng ký kết hôn"),
                ("Con kết hôn", "1 ngày", "Thiệp mời hoặc giấy xác nhận"),
                ("Cha mẹ, vợ chồng hoặc con qua đời", "3 ngày làm việc liền nhau", "Bản sao giấy chứng tử"),
                ("Khám thai", "5 lần, mỗi lần 1 ngày", "Sổ khám thai có dấu bệnh viện"),
                ("Vợ sinh con", "5 đến 14 ngày tùy ca sinh", "Giấy chứng sinh"),
            ),
            caption="Bảng 2. Các trường hợp nghỉ việc riêng",
        ),
        H(2, "4. Cách xin nghỉ"),
        L(
            (
                f"Gửi đơn trên cổng nhân sự trước ít nhất {notice}.",
                approval,
                "Nghỉ ốm đột xuất thì nhắn quản lý trước 9 giờ sáng và nộp giấy khám bệnh trong vòng 3 ngày sau khi đi làm lại.",
                "Nghỉ trên 5 ngày liên tục phải kèm biên bản bàn giao công việc có chữ ký của người nhận bàn giao.",
            ),
            ordered=True,
        ),
        H(2, "5. Chuyển phép và thanh toán phép chưa nghỉ"),
        P(f"Phép chưa dùng của năm {year} được chuyển sang năm sau trong giới hạn ở Bảng 1 và phải dùng hết trước ngày 31/03/{year + 1}; quá hạn thì mất, không quy đổi thành tiền."),
        P("Phép năm không nghỉ vì lý do sản xuất, có xác nhận của Giám đốc khối, được chuyển toàn bộ và không bị trừ khi hết hạn nói trên."),
        P("Người lao động thôi việc được thanh toán số ngày phép chưa nghỉ theo tiền lương bình quân của sáu tháng liền trước khi thôi việc."),
    )


LEAVE_2025 = Document(
    tenant="acme",
    uri="hr/nghi-phep-2025.docx",
    via="sidecar",
    stated={"title": "Quy định nghỉ phép 2025", "collection": "nhan-su", "acl": STAFF, "valid_from": "2025-01-01", "valid_to": "2025-12-31", "language": "vi"},
    blocks=_leave(
        2025,
        "08/2025/QĐ-NS",
        ("1 ngày cho mỗi tháng làm việc", "14 ngày", "16 ngày", "18 ngày"),
        ("0 ngày", "tối đa 3 ngày", "tối đa 4 ngày", "tối đa 5 ngày"),
        "5 ngày làm việc",
        "Trưởng phòng duyệt trong hai ngày làm việc; nghỉ từ 3 ngày trở lên cần thêm Giám đốc khối duyệt.",
        "Năm 2025 giữ nguyên số ngày phép của năm 2024.",
        "3 ngày",
    ),
)

LEAVE_2026 = Document(
    tenant="acme",
    uri="hr/nghi-phep-2026.docx",
    via="sidecar",
    stated={"title": "Quy định nghỉ phép 2026", "collection": "nhan-su", "acl": STAFF, "valid_from": "2026-01-01", "valid_to": "2026-12-31", "language": "vi"},
    blocks=_leave(
        2026,
        "12/2026/QĐ-NS",
        ("1,25 ngày cho mỗi tháng làm việc", "16 ngày", "18 ngày", "21 ngày"),
        ("0 ngày", "tối đa 5 ngày", "tối đa 7 ngày", "tối đa 8 ngày"),
        "3 ngày làm việc",
        "Trưởng phòng duyệt trong một ngày làm việc; quá hạn mà không trả lời thì đơn được coi là đã duyệt.",
        "So với năm 2025, mỗi bậc thâm niên được cộng thêm từ hai đến ba ngày phép.",
        "4 ngày",
    ),
)

LEAVE_2027 = Document(
    tenant="acme",
    uri="hr/nghi-phep-2027.md",
    via="front",
    stated={"title": "Quy định nghỉ phép 2027", "collection": "nhan-su", "acl": STAFF, "valid_from": "2027-01-01", "valid_to": "2027-12-31", "language": "vi"},
    blocks=_leave(
        2027,
        "31/2026/QĐ-NS",
        ("1,5 ngày cho mỗi tháng làm việc", "18 ngày", "20 ngày", "23 ngày"),
        ("2 ngày", "tối đa 6 ngày", "tối đa 8 ngày", "tối đa 10 ngày"),
        "2 ngày làm việc",
        "Người lao động tự đăng ký lịch nghỉ đến 2 ngày; dài hơn thì trưởng phòng duyệt trong một ngày làm việc.",
        "Từ năm 2027, mỗi người được thêm một ngày nghỉ sinh nhật có hưởng lương.",
        "5 ngày",
    ),
)

SALARIES = Document(
    tenant="acme",
    uri="hr/bang-luong-2026.xlsx",
    via="sidecar",
    stated={"title": "Bảng lương tháng 11 năm 2026", "collection": "luong", "acl": HR, "valid_from": "2026-11-01", "language": "vi"},
    blocks=(
        H(1, "Bảng lương tháng 11 năm 2026"),
        P("Đơn vị: đồng. Tài liệu mật, chỉ Phòng Nhân sự được xem."),
        T(
            (
                ("Mã NV", "Họ và tên", "Chức danh", "Lương", LEFT, "Thực lĩnh"),
                (UP, UP, UP, "Cơ bản", "Phụ cấp", UP),
                ("E007", "Nguyễn Thị Lan", "Giám đốc Nhân sự", "58.000.000", "6.500.000", "54.120.000"),
                ("E015", "Trần Quốc Huy", "Trưởng nhóm kỹ thuật", "46.000.000", "3.200.000", "41.870.000"),
                ("E023", "Lê Hoàng Nam", "Kỹ sư phần mềm", "31.500.000", "2.100.000", "28.940.000"),
                ("E042", "Phạm Minh Đức", "Chuyên viên kinh doanh", "18.700.000", "5.400.000", "21.630.000"),
                ("E051", "Võ Thanh Hà", "Nhân viên hỗ trợ khách hàng", "14.200.000", "1.800.000", "14.350.000"),
                ("E068", "Đặng Thu Thủy", "Kế toán tổng hợp", "22.300.000", "1.500.000", "20.980.000"),
                ("E074", "Bùi Đức Anh", "Thủ kho Bắc Ninh", "13.600.000", "2.700.000", "14.760.000"),
            ),
            sheet="Tháng 11",
            header_rows=2,
        ),
        T(
            (
                ("Bậc", "Lương tối thiểu", "Lương tối đa", "Kỳ xét nâng bậc"),
                ("B1", "9.500.000", "14.900.000", "6 tháng"),
                ("B2", "15.000.000", "24.900.000", "12 tháng"),
                ("B3", "25.000.000", "39.900.000", "12 tháng, có phỏng vấn"),
                ("B4", "40.000.000", "70.000.000", "24 tháng"),
            ),
            sheet="Thang bậc",
        ),
    ),
)

ANNEX_E042 = Document(
    tenant="acme",
    uri="hr/phu-luc-hop-dong-E042.docx",
    via="sidecar",
    stated={"title": "Phụ lục hợp đồng lao động E042", "collection": "luong", "acl": HR, "valid_from": "2026-04-01", "language": "vi", "employee": "E042"},
    blocks=(
        H(1, "Phụ lục hợp đồng lao động số PL-042/2026"),
        P("Giữa Công ty Cổ phần Acme Việt Nam và ông Phạm Minh Đức, mã nhân viên E042, Chuyên viên kinh doanh khu vực miền Bắc."),
        H(2, "Điều 1. Nội dung điều chỉnh"),
        P("Mức lương cơ bản của ông Phạm Minh Đức được điều chỉnh từ 16.900.000 đồng lên 18.700.000 đồng mỗi tháng, kể từ ngày 01/04/2026."),
        H(2, "Điều 2. Hoa hồng bán hàng"),
        P("Hoa hồng bằng 2,5% doanh thu thuần của các hợp đồng do E042 trực tiếp ký, thanh toán vào kỳ lương của quý tiếp theo."),
        H(2, "Điều 3. Hiệu lực"),
        P("Phụ lục này là phần không tách rời của Hợp đồng lao động số HĐLĐ-042/2023; các điều khoản khác giữ nguyên. Lý do điều chỉnh: hoàn thành 118% chỉ tiêu năm 2025."),
    ),
)

ONBOARDING = Document(
    tenant="acme",
    uri="hr/onboarding-guide.html",
    via="sidecar",
    stated={"title": "Onboarding guide", "language": "en"},
    blocks=(
        H(1, "Onboarding guide for new colleagues"),
        P(
            "Welcome to Acme Vietnam. This guide walks you through your first thirty days: what happens on which day, whom to ask, and what is expected of you before the end of your probation."
        ),
        H(2, "Before your first day"),
        P(
            "IT prepares your laptop and your account at least two working days before you start. Send a photo for your badge to badge@acme.example; without it reception can only give you a visitor card."
        ),
        H(2, "The first week"),
        T(
            (
                ("Day", "What happens", "Contact", "Where"),
                ("Day 1", "Badge, laptop, contract papers, lunch with your buddy", "Nguyễn Thị Lan", "Room 3.02"),
                ("Day 2", "Security training and enrolment of your security key", "Trần Quốc Huy", "Room 4.11"),
                ("Day 3", "Product tour: terminals, printers, AcmePay", "Product team", "Showroom, ground floor"),
                ("Day 4", "Shadow the support desk for half a day", "Võ Thanh Hà", "Room 2.07"),
                ("Day 5", "Goals for the probation period with your manager", "Your manager", "Any quiet room"),
            ),
            caption="Schedule of the first week",
        ),
        H(2, "Probation"),
        P(
            "Probation lasts 60 days for positions that need a college degree and 30 days for all others. Pay during probation is 85% of the agreed salary. A review takes place ten days before the end, and the decision is given in writing."
        ),
        P("Your manager and your buddy meet you every week during probation. Tell them early when something is unclear; nobody expects you to know our products after two weeks."),
        H(2, "Time off and working hours"),
        P(
            "Paid time off (PTO) starts to accrue on your first day, but can be taken only after the second month. The number of days is in the leave policy of the current year (Quy định nghỉ phép). Public holidays are not deducted from PTO."
        ),
        H(2, "Benefits"),
        L(
            (
                "Private health insurance from the first day after probation, with a yearly limit of 120 million VND.",
                "Lunch allowance of 55,000 VND for each day at the office.",
                "A learning budget of 12 million VND a year; ask your manager before you book.",
            )
        ),
    ),
)

HOURS_2024 = Document(
    tenant="acme",
    uri="notices/thong-bao-2024-07-gio-lam-viec.txt",
    via="manifest",
    stated={"title": "Thông báo giờ làm việc (7/2024)", "collection": "thong-bao", "acl": STAFF, "valid_from": "2024-07-01", "language": "vi"},
    blocks=(
        H(1, "Thông báo số 15/2024/TB-HC về giờ làm việc"),
        P("Ngày 24 tháng 6 năm 2024. Kính gửi toàn thể cán bộ nhân viên Công ty Cổ phần Acme Việt Nam."),
        P("Từ ngày 01/07/2024, giờ làm việc tại văn phòng là từ 8 giờ 30 đến 17 giờ 30, nghỉ trưa một tiếng từ 12 giờ."),
        P("Mỗi nhân viên được làm việc từ xa 1 ngày mỗi tuần, đăng ký với trưởng phòng trước 17 giờ chiều thứ Sáu tuần trước đó."),
        P("Người đi muộn quá 15 phút phải làm bù trong ngày. Phòng Hành chính tổng hợp chấm công vào ngày 25 hằng tháng."),
        P("Trưởng phòng Hành chính: Hoàng Văn Sơn"),
    ),
)

HOURS_2026 = Document(
    tenant="acme",
    uri="notices/thong-bao-2026-09-gio-lam-viec.txt",
    via="manifest",
    stated={"title": "Thông báo giờ làm việc (9/2026)", "collection": "thong-bao", "acl": STAFF, "valid_from": "2026-09-01", "language": "vi"},
    blocks=(
        H(1, "Thông báo số 22/2026/TB-HC về giờ làm việc linh hoạt"),
        P("Ngày 20 tháng 8 năm 2026. Kính gửi toàn thể cán bộ nhân viên Công ty Cổ phần Acme Việt Nam."),
        P("Từ ngày 01/09/2026, giờ làm việc tại văn phòng là từ 8 giờ đến 17 giờ; ai có con nhỏ dưới 6 tuổi được chọn khung 7 giờ 30 đến 16 giờ 30."),
        P("Mỗi nhân viên được làm việc từ xa 2 ngày mỗi tuần, riêng bộ phận kho và hỗ trợ tại quầy làm việc tại chỗ cả tuần."),
        P("Thứ Ba là ngày họp chung, tất cả có mặt tại văn phòng. Chấm công bằng ứng dụng, không còn dùng máy quét vân tay."),
        P("Trưởng phòng Hành chính: Hoàng Văn Sơn"),
    ),
)

TET_2026 = Document(
    tenant="acme",
    uri="notices/lich-nghi-tet-2026.txt",
    via="manifest",
    stated={"title": "Lịch nghỉ Tết Bính Ngọ 2026", "collection": "thong-bao", "acl": STAFF, "valid_from": "2026-01-05", "valid_to": "2026-02-28", "language": "vi"},
    blocks=(
        H(1, "Lịch nghỉ Tết Nguyên đán Bính Ngọ 2026"),
        P("Công ty nghỉ Tết 9 ngày liên tục, từ thứ Bảy ngày 14/02/2026 đến hết Chủ nhật ngày 22/02/2026. Làm việc trở lại vào thứ Hai ngày 23/02/2026."),
        P("Bộ phận hỗ trợ khách hàng trực theo ca; ca trực ngày mùng 1 được trả 400% lương ngày và nghỉ bù một ngày trong tháng 3."),
        P("Tiền thưởng Tết được chuyển trước ngày 06/02/2026. Các phòng niêm phong cửa, tắt máy lạnh và rút phích cắm trước 17 giờ ngày 13/02/2026."),
    ),
)

SECURITY = Document(
    tenant="acme",
    uri="it/security-policy.pdf",
    via="sidecar",
    stated={"title": "Information security policy", "collection": "it", "acl": STAFF, "valid_from": "2026-03-01", "language": "en"},
    blocks=(
        H(1, "Information security policy"),
        P("Version 3.2, in force since 1 March 2026. Owner: IT security, Trần Quốc Huy. This policy applies to everyone who uses an Acme account, including contractors and interns."),
        H(2, "1. Passwords and sign-in"),
        P(
            "Passwords have at least 14 characters and are kept in the company password manager. They are changed only when there is reason to believe that they are known to others; there is no periodic change."
        ),
        P("Multi-factor authentication (MFA) is required for every account. Hardware keys are issued on the second working day; codes by SMS are not accepted."),
        P("Shared accounts are not allowed. Where a machine needs an account of its own, its owner is named in the register of service accounts and its key is renewed every 180 days."),
        H(2, "2. Devices"),
        P(
            "A laptop locks itself after 5 minutes without use. Disk encryption is on before the device leaves the IT room. Private phones may read mail only inside the managed profile (MDM)."
        ),
        P("Report a lost or stolen device to the security hotline, extension 5555, within 2 hours, also at night and during holidays."),
        H(2, "3. Classes of information"),
        T(
            (
                ("Class", "Examples", "Where it may be stored", "Kept for"),
                ("Public", "Brochures, published price lists", "Anywhere", "As long as useful"),
                ("Internal", "Notices, guides, meeting notes", "Intranet and shared drive", "3 years"),
                ("Confidential", "Contracts, customer data", "Document vault only", "10 years after the contract ends"),
                ("Secret", "Salaries, merger plans, private keys", "Vault with named readers", "As the owner decides, at most 15 years"),
            ),
            caption="Table 1. Classes of information and their handling",
        ),
        H(2, "4. Incidents"),
        P(
            "An incident is reported within 30 minutes of its discovery to soc@acme.example. The on-call engineer opens a ticket with the prefix SEC- and decides within one hour whether customers must be told. A personal data breach is reported to the authority within 72 hours."
        ),
        P("Nobody is blamed for reporting an incident in good faith. A review without blame takes place within five working days, and its findings are published to all engineers."),
        H(2, "5. Access reviews"),
        P("Owners of systems review the list of people with access every quarter. Access of people who leave is removed on their last working day at 17:00 at the latest."),
        H(2, "6. Artificial intelligence"),
        P("Only assistants that are approved by IT may be given internal documents. Confidential and secret information is never pasted into public chat services."),
        P("Whoever uses the output of an assistant answers for it as for work of their own. Code written with an assistant passes the same review as any other code."),
        H(2, "7. Visitors and premises"),
        P(
            "Visitors wear a badge and are accompanied beyond the reception at all times. The server room on floor 4 is entered by two persons together, and each entry is written into the log."
        ),
        P("Desks are cleared in the evening: paper marked confidential goes into the locked cabinet or the shredder. Whiteboards are wiped after each meeting."),
        H(2, "8. Breaches of this policy"),
        P("A breach is handled by the manager together with human resources and may lead to a warning or, when repeated or deliberate, to the end of the employment contract."),
    ),
)

TRAVEL = Document(
    tenant="acme",
    uri="finance/cong-tac-phi.pdf",
    via="sidecar",
    stated={"title": "Quy chế công tác phí", "collection": "tai-chinh", "acl": STAFF, "valid_from": "2026-02-01", "language": "vi"},
    blocks=(
        H(1, "Quy chế công tác phí"),
        P("Ban hành theo Quyết định số 19/2026/QĐ-TC, áp dụng từ ngày 01/02/2026 cho mọi chuyến công tác có lệnh điều động được duyệt trên hệ thống."),
        H(2, "1. Định mức"),
        P("Định mức dưới đây tính cho một người. Phần vượt định mức do người đi công tác tự chi trả, trừ khi Giám đốc Tài chính duyệt trước bằng văn bản."),
        T(
            (
                ("Nơi đến", "Định mức (đồng)", LEFT, "Hạng vé"),
                (UP, "Khách sạn một đêm", "Phụ cấp một ngày", UP),
                ("Hà Nội, TP. Hồ Chí Minh", "1.200.000", "350.000", "Phổ thông"),
                ("Đà Nẵng, Cần Thơ, Hải Phòng", "950.000", "300.000", "Phổ thông"),
                ("Tỉnh khác", "700.000", "250.000", "Xe khách hoặc tàu hỏa"),
                ("Đông Nam Á", "2.400.000", "900.000", "Phổ thông linh hoạt"),
                ("Châu Âu, Bắc Mỹ", "4.500.000", "1.800.000", "Phổ thông đặc biệt"),
            ),
            caption="Bảng 1. Định mức khách sạn, phụ cấp và hạng vé",
            header_rows=2,
        ),
        P(
            "Chuyến đi trên 30 ngày được tính theo hợp đồng thuê nhà thay cho khách sạn. Hai người cùng giới đi chung được khuyến khích ở phòng đôi và được cộng 100.000 đồng phụ cấp một ngày cho mỗi người."
        ),
        H(2, "2. Tạm ứng"),
        P("Người đi công tác được tạm ứng tối đa 80% chi phí dự kiến; kế toán chuyển khoản trong vòng 2 ngày làm việc kể từ khi đề nghị tạm ứng được duyệt."),
        H(2, "3. Thanh toán"),
        P(
            "Hồ sơ thanh toán nộp trong vòng 7 ngày làm việc sau khi kết thúc chuyến đi, gồm lệnh điều động, hóa đơn điện tử, thẻ lên máy bay và báo cáo kết quả. Nộp muộn quá 30 ngày thì không được thanh toán."
        ),
        P("Hóa đơn từ 5 triệu đồng trở lên phải thanh toán bằng chuyển khoản hoặc thẻ công ty."),
    ),
)

GLOSSARY = Document(
    tenant="acme",
    uri="glossary.csv",
    via="manifest",
    stated={"title": "Bảng thuật ngữ và chữ viết tắt", "acl": STAFF, "language": "vi"},
    blocks=(
        T(
            (
                ("Viết tắt", "Tiếng Anh", "Tiếng Việt", "Ghi chú"),
                ("PTO", "paid time off", "nghỉ phép có lương", "Xem quy định nghỉ phép của năm hiện hành"),
                ("WFH", "work from home", "làm việc từ xa", "Đăng ký trên ứng dụng chấm công"),
                ("SLA", "service level agreement", "cam kết mức dịch vụ", "Ghi trong phụ lục của hợp đồng khung"),
                ("MFA", "multi-factor authentication", "xác thực nhiều lớp", "Bắt buộc với mọi tài khoản"),
                ("MDM", "mobile device management", "quản lý thiết bị di động", "Cài trên điện thoại cá nhân có đọc thư"),
                ("NDA", "non-disclosure agreement", "thỏa thuận bảo mật thông tin", "Phòng Pháp chế giữ bản gốc"),
                ("RMA", "return merchandise authorization", "phiếu nhận hàng bảo hành", "Khách phải có số RMA trước khi gửi máy"),
                ("DOA", "dead on arrival", "hỏng ngay khi mở hộp", "Đổi máy mới trong 7 ngày"),
                ("TCO", "total cost of ownership", "tổng chi phí sở hữu", "Dùng trong báo giá cho chuỗi cửa hàng"),
                ("MOQ", "minimum order quantity", "số lượng đặt tối thiểu", "Áp dụng cho đại lý cấp 2"),
                ("HĐLĐ", "labour contract", "hợp đồng lao động", "Lưu ở Phòng Nhân sự"),
                ("BHXH", "social insurance", "bảo hiểm xã hội", "Trích 8% từ lương người lao động"),
                ("VAT", "value added tax", "thuế giá trị gia tăng", "Còn viết GTGT trên hóa đơn"),
                ("KPI", "key performance indicator", "chỉ tiêu đánh giá", "Chấm theo quý"),
            )
        ),
    ),
)

RESTRUCTURING = Document(
    tenant="acme",
    uri="drafts/ke-hoach-tai-co-cau.md",
    blocks=(
        H(1, "Kế hoạch tái cơ cấu khối vận hành (bản nháp)"),
        P("Bản nháp của Ban Giám đốc, chưa được phân quyền, vì thế không ai tìm thấy tài liệu này."),
        H(2, "Nội dung dự kiến"),
        L(
            (
                "Sáp nhập kho Bắc Ninh vào kho Hải Phòng trong quý 2 năm 2027.",
                "Giảm 14 vị trí ở khối vận hành, ưu tiên chuyển sang bộ phận hỗ trợ khách hàng.",
                "Dự phòng 3,2 tỷ đồng cho trợ cấp thôi việc.",
            )
        ),
    ),
)

DOCUMENTS = (LEAVE_2025, LEAVE_2026, LEAVE_2027, SALARIES, ANNEX_E042, ONBOARDING, HOURS_2024, HOURS_2026, TET_2026, SECURITY, TRAVEL, GLOSSARY, RESTRUCTURING)
