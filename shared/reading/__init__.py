"""Reads what came of a thread: its proposal, who stands where, and how it ended.

`reader.read_thread` is the entry point. It takes `mails.ThreadMail` objects and returns a `ThreadReading`.
"""
