// Loaded before Azurite: ends it when the supervisor goes, however it goes (see localcloud/lifeline.py).
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
process.stdin.unref(); // the pipe alone must not keep a stopped Azurite alive
