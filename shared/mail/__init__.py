"""Mail: reading archives, decoding messages, telling apart what a body is made of, threading.

Pure: nothing here does I/O of its own or knows of a cloud.
"""
