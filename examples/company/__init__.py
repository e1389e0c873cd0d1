"""The fictional companies Acme and Globex: their documents, facts and questions."""
