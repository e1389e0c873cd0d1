"""placeholder"""
INSTALL_HINT = "x"
def engine_id(): return "no-ocr"
def is_installed(): return False
def read_pdf_page(document, index): raise NotImplementedError
