"""What came of a thread: what was put to the group, who stands where, and how it ended.

`reader.read_thread` is the entry. It takes `mails.ThreadMail` and gives a `ThreadReading`.
"""
