package dev.ullage.log;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Lines to reuse: a limited number for all threads. Thread locals would cost a buffer for each virtual thread. If no
 * line is free, a thread gets a new one.
 */
final class LinePool {
    private static final int APART = 32; // references: 128 bytes, so that slots share no cache line
    private static final int TRIES = 3;

    private final EventLog log;
    private final int slots = Integer.highestOneBit(4 * Runtime.getRuntime().availableProcessors());
    private final AtomicReferenceArray<Line> lines = new AtomicReferenceArray<>(slots * APART);

    LinePool(EventLog log) {
        this.log = log;
    }

    Line take(boolean direct) {
        int first = slot(0);
        for (int i = 0; i < TRIES; i++) {
            int slot = slot(i);
            if (lines.getPlain(slot) != null) {
                Line line = lines.getAndSet(slot, null);
                if (line != null) {
                    return line.open(direct);
                }
            }
        }
        return new Line(log, this, first).open(direct);
    }

    void give(Line line, int slot) {
        lines.setRelease(slot, line);
    }

    private int slot(int attempt) {
        int hash = (int) Thread.currentThread().getId() * 0x9E3779B9 >>> 8;
        return (hash + attempt & slots - 1) * APART;
    }
}
