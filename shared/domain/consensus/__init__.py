"""What came of a thread: what was put to the group, who stands where, and how it ended.

`reader.read_thread` is the entry, `thread_mail` has its input and `reading` its result.
"""
