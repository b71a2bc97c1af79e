package dev.ullage.log;

import java.time.Instant;

/**
 * The writer of a ring, and one moment on two clocks. If the sidecar has no such monotonic clock of its own, it uses
 * the moment to convert the times of events into dates.
 *
 * @param pid of this process, as this process sees it
 * @param nanoTime of {@link System#nanoTime()}
 * @param wallNanos the same moment in nanoseconds since 1970
 */
record Origin(long pid, long nanoTime, long wallNanos) {
    /** Returns the most accurate of several attempts: the one that read the clocks fastest. */
    static Origin now() {
        long best = Long.MAX_VALUE;
        Origin origin = null;
        for (int i = 0; i < 16; i++) {
            long before = System.nanoTime();
            Instant wall = Instant.now();
            long took = System.nanoTime() - before;
            if (took < best || origin == null) {
                best = took;
                long nanos = wall.getEpochSecond() * 1_000_000_000L + wall.getNano();
                origin = new Origin(ProcessHandle.current().pid(), before + took / 2, nanos);
            }
        }
        return origin;
    }

    long wallMillis() {
        return wallNanos / 1_000_000;
    }
}
