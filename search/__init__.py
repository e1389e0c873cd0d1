"""The read side: dense and full text, fused, inside tenant, ACL, validity and version."""
