// Loaded before Azurite: stops it when the supervisor ends for any reason (see localcloud/lifeline.py).
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
process.stdin.unref(); // the pipe must not keep a stopped Azurite alive
