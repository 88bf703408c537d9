// Loaded before Azurite: ends it when the supervisor goes, however it goes (see localcloud/lifeline.py).
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
