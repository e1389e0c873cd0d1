"""Vietnamese before Unicode: the legacy encodings, and what a Vietnamese syllable looks like.

Tables: TCVN3 (also called ABC) from TCVN 5712:1993, VNI from the VNI Windows character set. The
onsets and rimes are those of the standard orthography.
"""

from __future__ import annotations

import re
import unicodedata

_TCVN3 = {
    0xA0: "\xa0",
    **dict(zip(range(0xA1, 0xAF), "ĂÂÊÔƠƯĐăâêôơưđ", strict=True)),
    **dict(zip(range(0xB5, 0xBA), "àảãáạ", strict=True)),
    **dict(zip(range(0xBB, 0xBF), "ằẳẵắ", strict=True)),
    **dict(zip(range(0xC6, 0xCD), "ặầẩẫấậè", strict=True)),
    **dict(zip(range(0xCE, 0xD8), "ẻẽéẹềểễếệì", strict=True)),
    0xD8: "ỉ",
    **dict(zip(range(0xDC, 0xE0), "ĩíịò", strict=True)),
    **dict(zip(range(0xE1, 0xEB), "ỏõóọồổỗốộờ", strict=True)),
    **dict(zip(range(0xEB, 0xF0), "ởỡớợù", strict=True)),
    **dict(zip(range(0xF1, 0xFF), "ủũúụừửữứựỳỷỹýỵ", strict=True)),
}

_GRAVE, _ACUTE, _HOOK, _TILDE, _DOT, _HAT, _BREVE = "\u0300\u0301\u0309\u0303\u0323\u0302\u0306"
_VNI_MARKS = {
    "ø": _GRAVE, "ù": _ACUTE, "û": _HOOK, "õ": _TILDE, "ï": _DOT,
    "â": _HAT, "à": _HAT + _GRAVE, "á": _HAT + _ACUTE, "å": _HAT + _HOOK, "ã": _HAT + _TILDE,
    "ä": _HAT + _DOT, "ê": _BREVE, "è": _BREVE + _GRAVE, "é": _BREVE + _ACUTE,
    "ú": _BREVE + _HOOK, "ü": _BREVE + _TILDE, "ë": _BREVE + _DOT,
}  # fmt: skip
_VNI_LETTERS = {
    "ô": "ơ", "ö": "ư", "ì": "ì", "í": "í", "æ": "ỉ", "ó": "ĩ", "ò": "ị", "î": "ỵ", "ñ": "đ",
}  # fmt: skip
_VNI_MARKS |= {mark.upper(): marks for mark, marks in _VNI_MARKS.items()}
_VNI_LETTERS |= {sign.upper(): letter.upper() for sign, letter in _VNI_LETTERS.items()}
_VNI_BASES = frozenset("aeouyôöAEOUYÔÖ")

_ONSETS = re.findall(r"\S+", "b ch c d đ gh gi g h kh k l m ngh ng nh n ph p qu r s th tr t v x")
_RIMES = re.findall(
    r"\S+",
    """
a ac ach ai am an ang anh ao ap at au ay ă ăc ăm ăn ăng ăp ăt â âc âm ân âng âp ât âu ây e ec em
en eng eo ep et ê êch êm ên ênh êp êt êu i ia ich iêc iêm iên iêng iêp iêt iêu im in inh ip it
iu o oa oac oach oai oam oan oang oanh oao oap oat oay oăc oăm oăn oăng oăt oc oe oen oeo oet oi
om on ong ooc oong op ot ô ôc ôi ôm ôn ông ôp ôt ơ ơi ơm ơn ơp ơt u ua uân uâng uât uây uc uê
uêch uênh ui um un ung uôc uôi uôm uôn uông uôt up ut uơ uy uya uych uyên uyêt uyn uynh uyp uyt
uyu ư ưa ưc ưi ưm ưn ưng ươc ươi ươm ươn ương ươp ươt ươu ưt ưu y yêm yên yêng yêt yêu ych ynh
yp yt
""",
)
_SYLLABLE = re.compile(f"(?:{'|'.join(_ONSETS)})?(?:{'|'.join(_RIMES)})")
_TONES = dict.fromkeys(map(ord, (_GRAVE, _ACUTE, _HOOK, _TILDE, _DOT)))
_WORD = re.compile(r"[^\s\x00-\x40\x5b-\x60\x7b-\x7f\u2010-\u2026]+")


def vietnamese_share(text: str) -> tuple[float, int]:
    """Return the share of words with letters beyond ASCII that are Vietnamese, and their count."""
    words = [word for word in _WORD.findall(unicodedata.normalize("NFC", text)) if _is_marked(word)]
    if not words:
        return 0.0, 0
    return sum(map(is_vietnamese_syllable, words)) / len(words), len(words)


def is_vietnamese_syllable(word: str) -> bool:
    """Whether a word is built like a Vietnamese syllable: one onset, one rime, at most one tone."""
    letters = unicodedata.normalize("NFD", word.lower())
    bare = letters.translate(_TONES)
    tones = len(letters) - len(bare)
    if tones > 1:
        return False
    bare = unicodedata.normalize("NFC", bare)
    if not _SYLLABLE.fullmatch(bare):
        return False
    is_stopped = bare.endswith(("p", "t", "c", "ch"))
    return not is_stopped or _ACUTE in letters or _DOT in letters


def decode_tcvn3(data: bytes) -> str:
    """Decode TCVN3 (ABC). It has no capitals with tones: words of capitals are restored."""
    text = "".join(_TCVN3.get(byte, chr(byte)) if byte > 0x7F else chr(byte) for byte in data)
    return "\n".join(map(_restore_capitals, text.split("\n")))


def decode_vni(data: bytes) -> str:
    """Decode VNI Windows, where a letter is followed by a character that stands for its marks."""
    text = data.decode("cp1252", "replace")
    out: list[str] = []
    previous = ""
    for char in text:
        if char in _VNI_MARKS and previous in _VNI_BASES:
            out.append(_VNI_MARKS[char])
        else:
            out.append(_VNI_LETTERS.get(char, char))
        previous = char
    return unicodedata.normalize("NFC", "".join(out))


def _restore_capitals(line: str) -> str:
    if _is_upper(line, at_least=4):
        return line.upper()
    words = re.split(r"(\s+)", line)
    return "".join(word.upper() if _is_upper(word, at_least=2) else word for word in words)


def _is_upper(text: str, *, at_least: int) -> bool:
    plain = [char for char in text if char.isascii() and char.isalpha()]
    return len(plain) >= at_least and all(char.isupper() for char in plain)


def _is_marked(word: str) -> bool:
    return not word.isascii() and any(char.isalpha() for char in word)
