"""Globex's documents: another company in the same database, with other answers."""

# One row of a table and one question stay one line.
# fmt: off

from __future__ import annotations

from company.model import LEFT, UP, Block, Document, H, L, P, T

STAFF = ["role:staff"]


def _leave(year: int, days: tuple[str, str, str], carry: str, notice: str) -> tuple[Block, ...]:
    return (
        H(1, f"Annual leave policy {year}"),
        P(f"This policy applies to all employees of Globex Logistics in Hai Phong, Da Nang and Singapore from 1 January to 31 December {year}."),
        H(2, "Entitlement"),
        T(
            (
                ("Employee group", "Leave days", "Approved by"),
                ("Office staff", days[0], "Line manager"),
                ("Warehouse staff on shifts", days[1], "Shift supervisor"),
                ("Drivers", days[2], "Fleet coordinator"),
            ),
            caption=f"Leave entitlement in {year}",
        ),
        P(
            "The days are working days. Whoever joins or leaves during the year has one twelfth of them for each full month. Public holidays that fall into a leave are not counted; for shift workers the days off of the roster are not counted either."
        ),
        H(2, "Requests"),
        P(f"Leave is requested in the Workboard at least {notice} ahead. No leave is granted in the two weeks before the Lunar New Year, when the terminals work at full capacity."),
        H(2, "Carry-over"),
        P(f"Up to {carry} may be carried over and are taken by 30 June {year + 1}. Days that are lost are not paid."),
        H(2, "Sick leave"),
        P("From the third day of illness a certificate is needed. Social insurance pays 75% of the insured salary; Globex adds the difference for the first ten days."),
    )


LEAVE_2025 = Document(
    tenant="globex",
    uri="people/annual-leave-2025.docx",
    via="sidecar",
    stated={"title": "Annual leave policy 2025", "collection": "people", "acl": STAFF, "valid_from": "2025-01-01", "valid_to": "2025-12-31", "language": "en"},
    blocks=_leave(2025, ("17 days", "19 days", "20 days"), "4 days", "ten working days"),
)

LEAVE_2026 = Document(
    tenant="globex",
    uri="people/annual-leave-2026.docx",
    via="sidecar",
    stated={"title": "Annual leave policy 2026", "collection": "people", "acl": STAFF, "valid_from": "2026-01-01", "valid_to": "2026-12-31", "language": "en"},
    blocks=_leave(2026, ("20 days", "22 days", "24 days"), "6 days", "seven working days"),
)

BENEFITS_2027 = Document(
    tenant="globex",
    uri="people/benefits-2027.md",
    via="front",
    stated={"title": "Benefits 2027", "collection": "people", "acl": STAFF, "valid_from": "2027-01-01", "language": "en"},
    blocks=(
        H(1, "Benefits from 2027"),
        P("From 1 January 2027 Globex replaces the meal card by a flexible budget. The budget is 1,500,000 VND a month and is spent on meals, transport, sport or childcare."),
        P("Budget that is not used by the end of a quarter lapses. Receipts are not needed for meals and transport; sport and childcare are paid against an invoice in the employee's name."),
        H(2, "Health"),
        P("Family members are insured as well: one partner and up to three children. The dental limit rises to 18 million VND a year."),
        H(2, "Pension"),
        P("Globex adds 3% of the salary to a voluntary pension fund after two years of service."),
    ),
)

PAYROLL = Document(
    tenant="globex",
    uri="people/payroll-2026-11.xlsx",
    via="sidecar",
    stated={"title": "Payroll November 2026", "collection": "payroll", "acl": ["role:hr"], "valid_from": "2026-11-01", "language": "en"},
    blocks=(
        H(1, "Payroll November 2026"),
        P("Amounts in VND. Human resources only."),
        T(
            (
                ("ID", "Name", "Position", "Base salary", "Overtime", "Net pay"),
                ("G101", "Olivia Tan", "Terminal manager", "72,000,000", "1,250,000", "61,480,000"),
                ("G118", "Phan Văn Khải", "Fleet coordinator", "34,500,000", "4,100,000", "33,275,000"),
                ("G127", "Hồ Ngọc Mai", "Customs broker", "29,800,000", "2,350,000", "28,060,000"),
                ("G140", "Đỗ Mạnh Cường", "Truck driver", "17,900,000", "6,720,000", "22,310,000"),
            ),
            sheet="2026-11",
        ),
    ),
)

_PORTS = (("Hai Phong", 0, 0), ("Da Nang", 45, 1), ("Ho Chi Minh City", -12, -1), ("Quy Nhon", 88, 2))
_PLACES = (
    ("Singapore", 190, 3),
    ("Port Klang", 215, 4),
    ("Bangkok", 205, 4),
    ("Jakarta", 310, 6),
    ("Manila", 265, 5),
    ("Hong Kong", 170, 3),
    ("Shanghai", 240, 5),
    ("Busan", 330, 7),
    ("Tokyo", 390, 8),
    ("Kaohsiung", 225, 4),
    ("Chennai", 780, 13),
    ("Nhava Sheva", 860, 15),
    ("Jebel Ali", 1_150, 18),
    ("Hamburg", 2_380, 36),
    ("Rotterdam", 2_290, 34),
    ("Antwerp", 2_310, 35),
    ("Felixstowe", 2_350, 35),
    ("Le Havre", 2_330, 33),
    ("Genoa", 2_160, 29),
    ("Piraeus", 2_050, 27),
    ("Los Angeles", 1_980, 19),
    ("Long Beach", 1_965, 19),
    ("Oakland", 2_040, 21),
    ("Seattle", 2_010, 20),
    ("Vancouver", 2_075, 21),
    ("New York", 3_120, 33),
    ("Savannah", 3_060, 34),
    ("Houston", 3_240, 36),
    ("Sydney", 1_080, 17),
    ("Melbourne", 1_110, 18),
    ("Auckland", 1_390, 22),
    ("Durban", 1_720, 24),
)


def _lanes() -> tuple[tuple[str, ...], ...]:
    rows = []
    for p, (port, more, days) in enumerate(_PORTS):
        for d, (place, rate, transit) in enumerate(_PLACES):
            number = p * len(_PLACES) + d + 1
            small = rate + more + (number * 7) % 23
            large = small * 17 // 10 + (number * 29) % 50
            rows.append((f"LN-{number:03d}", port, place, f"{small:,}", f"{large:,}", f"{transit + days} days"))
    return tuple(rows)


RATES = Document(
    tenant="globex",
    uri="rates/sea-freight-2026-q4.pdf",
    via="manifest",
    stated={"title": "Sea freight rates Q4 2026", "collection": "rates", "acl": ["role:sales"], "valid_from": "2026-10-01", "valid_to": "2026-12-31", "language": "en"},
    blocks=(
        H(1, "Sea freight rates, fourth quarter 2026"),
        P("Rates in US dollars for one container, without terminal handling charges. Valid from 1 October to 31 December 2026; sailings are weekly unless noted."),
        T((("Lane", "From", "To", "20-foot", "40-foot", "Transit time"), *_lanes()), caption="Table 1. Rates by lane"),
        H(2, "Booking"),
        P(
            "A booking is firm when the booking desk has confirmed it by EDI or in writing. The cut-off for documents is 48 hours before the vessel's arrival, for containers 24 hours. A booking that is cancelled later than five days before departure costs 120 dollars for each container."
        ),
        H(2, "Surcharges"),
        P("The bunker surcharge is 9% of the rate and is reviewed on the first of each month. Dangerous goods of classes 3 and 8 pay 350 dollars more; other classes on request."),
    ),
)

STORAGE = Document(
    tenant="globex",
    uri="rates/storage-fees.tsv",
    via="manifest",
    stated={"title": "Storage fees", "collection": "rates", "acl": ["role:sales", "role:support"], "valid_from": "2026-01-01", "language": "en"},
    blocks=(
        T(
            (
                ("Zone", "Goods", "Free days", "Fee per pallet and day (VND)", "Temperature"),
                ("ZN-A", "General cargo", "7", "18,500", "Ambient"),
                ("ZN-B", "Electronics", "5", "26,000", "18 to 24 °C"),
                ("ZN-C", "Chilled food", "3", "41,500", "2 to 6 °C"),
                ("ZN-D", "Frozen seafood", "2", "57,000", "below -20 °C"),
                ("ZN-E", "Dangerous goods", "0", "88,000", "Ambient, fire zone"),
            )
        ),
    ),
)

CLAIMS = Document(
    tenant="globex",
    uri="service/claims-policy.html",
    via="sidecar",
    stated={"title": "Claims and refund policy", "collection": "service", "acl": ["role:support", "role:staff"], "valid_from": "2026-04-01", "language": "en"},
    blocks=(
        H(1, "Claims and refund policy"),
        P("This policy says what Globex pays back when goods arrive late, damaged or not at all. It is part of every booking made after 1 April 2026."),
        H(2, "Compensation by service level"),
        T(
            (
                ("Service level", "Late delivery", LEFT, "Damage or loss"),
                (UP, "1 to 3 days", "More than 3 days", UP),
                ("Economy", "No refund", "10% of the freight", "Up to 20 USD per kg"),
                ("Standard", "15% of the freight", "35% of the freight", "Up to 45 USD per kg"),
                ("Priority", "50% of the freight", "Full freight", "Declared value, at most 100,000 USD"),
            ),
            caption="Compensation by service level",
            header_rows=2,
        ),
        H(2, "How to claim"),
        L(
            (
                "Note visible damage on the delivery receipt and take photos before unpacking.",
                "File the claim at claims.globex.example within 14 days of delivery.",
                "Globex answers within ten working days and pays within 30 days of acceptance.",
            ),
            ordered=True,
        ),
        P(
            "Claims above 10,000 USD are examined by an independent surveyor, whose fee Globex pays when the claim is justified. The customer keeps the damaged goods for inspection until the surveyor has seen them."
        ),
        H(2, "Exclusions"),
        P("Nothing is paid for delay by customs inspection, strike or storm, nor for goods that were packed by the sender against our packing guide."),
    ),
)

EDI_ERRORS = Document(
    tenant="globex",
    uri="service/edi-errors.md",
    via="front",
    stated={"title": "EDI error codes", "collection": "service", "acl": ["role:support", "role:engineering"], "valid_from": "2026-02-01", "language": "en"},
    blocks=(
        H(1, "EDI error codes"),
        P("Partners send bookings and customs data as EDI messages. A message that cannot be processed is answered with one of these codes."),
        T(
            (
                ("Code", "Meaning", "Who repairs it"),
                ("ERR_4021", "The container number fails its check digit", "Sender"),
                ("ERR_4077", "The vessel has already departed", "Booking desk"),
                ("ERR_6110", "The customs tariff number is unknown", "Customs broker"),
                ("ERR_6125", "The invoice currency differs from the booking", "Sender"),
            )
        ),
        H(2, "Escalation"),
        P(
            "If the same partner causes more than ten errors in an hour, the gateway stops taking messages from that partner and calls the duty engineer. The partner manager agrees with the partner when traffic starts again."
        ),
        P("Messages with errors are kept for 20 days and may be sent again with the same reference."),
    ),
)

MOVE = Document(
    tenant="globex",
    uri="notices/office-move.txt",
    via="manifest",
    stated={"title": "Office move", "acl": STAFF, "valid_from": "2026-10-15", "language": "en"},
    blocks=(
        H(1, "The Hai Phong office moves"),
        P("On Monday 7 December 2026 the Hai Phong office moves to Tower B, 27 Le Hong Phong Street, floors 9 and 10."),
        P("Pack your desk by Friday 4 December at noon; boxes and labels are at reception. Parking is free for the first three months."),
        P("The canteen opens on 14 December. Until then each employee receives a lunch allowance of 60,000 VND a day."),
    ),
)

NDA = Document(
    tenant="globex",
    uri="legal/nda-template.docx",
    via="sidecar",
    stated={"title": "NDA template", "collection": "legal", "acl": ["role:legal"], "valid_from": "2026-01-01", "language": "en"},
    blocks=(
        H(1, "Mutual non-disclosure agreement"),
        P("Between Globex Logistics Joint Stock Company and the partner named on the signature page."),
        H(2, "Clause 1. Confidential information"),
        P("Confidential information means rates, customer lists, routes and technical data that a party marks as confidential or that a reasonable person would treat so."),
        H(2, "Clause 2. Use"),
        P("The recipient uses the information for the evaluation of a joint project only and gives it to no more than ten named employees."),
        H(2, "Clause 3. Term"),
        P("The duty of confidence lasts five years from the date of disclosure, and without limit for trade secrets."),
        H(2, "Clause 4. Return"),
        P("On request the recipient returns or destroys all copies within 15 days and confirms it in writing."),
        H(2, "Clause 5. Penalty"),
        P("A breach costs the party that commits it 50,000 USD for each case, besides the actual damage."),
        H(2, "Clause 6. Law"),
        P("This agreement is governed by the law of Singapore; disputes go to the Singapore International Arbitration Centre."),
    ),
)

DOCUMENTS = (LEAVE_2025, LEAVE_2026, BENEFITS_2027, PAYROLL, RATES, STORAGE, CLAIMS, EDI_ERRORS, MOVE, NDA)
