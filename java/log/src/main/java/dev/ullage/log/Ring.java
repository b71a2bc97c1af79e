package dev.ullage.log;

import static dev.ullage.log.Layout.*;

import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.LockSupport;

/**
 * The writer's side of one mapped ring file. Any number of threads can write at the same time.
 *
 * <p>A thread claims a record by moving the tail with compare-and-set. It never moves the tail farther than the
 * capacity beyond the head, so no thread overwrites records that the sidecar has not read. The sidecar zeroes records
 * that it has read before it moves the head, so each claim begins as zeros. The documentation of the package
 * internal/ship/ring ("Memory order") explains which mode each access needs, and why that suffices on arm64.
 *
 * <p>A method throws an InternalError or a RuntimeException only if another process truncated or overwrote the file.
 * The ring is then useless.
 */
final class Ring {
    /**
     * If more than this percentage of the ring is in use, events below the keep level are refused. The rest is for the
     * other events while the sidecar gets no CPU time: next to 50 busy threads, the sidecar waits a third of a second
     * for a processor, and a fifth of the ring could not hold the warnings that are logged in that time.
     */
    private static final int LOW_PERCENT = 50;
    private static final long WAIT_STEP = 50_000; // ns

    private final MappedByteBuffer buffer;
    private final int capacity;
    private final int keepLevel;
    private final int baseLevel;
    private final long lowLimit;
    private final long highLimit;

    private final int waitLevel;
    private final int lineWaitLevel;
    private final long waitNanos;

    // The head at which a thread waited for room without success.
    private volatile long stalledHead = -1;

    // The last head that was read whole. An older head is smaller, so it can only cause events to be refused earlier.
    private volatile long lastHead;
    private volatile Loggers loggers; // as last read; null: never read
    private int templatesEnd = TEMPLATES_AT;

    // A claim whose thread had no stack left to complete it. Only one claim is remembered: if a second thread ran out
    // of stack before the next event, one of the two claims would be lost, and the sidecar would abandon the ring.
    private final Object lock = new Object();
    private volatile boolean hasOpen;
    private long openPosition;
    private int openSize;
    private int openLevel; // 0 if the event is counted already

    Ring(MappedByteBuffer buffer, Settings settings) {
        this(buffer, settings, settings.capacity());
    }

    /** A limit above the capacity is for measurements without a reader: the ring overwrites itself. */
    Ring(MappedByteBuffer buffer, Settings settings, long limit) {
        this.buffer = buffer;
        buffer.order(ByteOrder.LITTLE_ENDIAN);
        capacity = settings.capacity();
        keepLevel = settings.keepLevel();
        baseLevel = settings.baseLevel();
        waitLevel = settings.patience().level();
        lineWaitLevel = settings.patience().lineLevel();
        waitNanos = settings.patience().nanos();
        lowLimit = limit / 100 * LOW_PERCENT + limit % 100 * LOW_PERCENT / 100; // without an overflow
        highLimit = limit;
    }

    boolean isEnabled(int level, String logger) {
        return level >= baseLevel || isRaised(level, logger);
    }

    /**
     * Whether the sidecar asks for events of a level from a logger, which is null for events without a logger. A word
     * of 0 raises nothing.
     */
    boolean isRaised(int level, String logger) {
        int word = (int) INT.getOpaque(buffer, RAISED_AT);
        int any = word & 0xFF;
        if (any == 0 || level < any) {
            return false;
        }
        if (logger != null && word >>> 16 != 0) {
            return isRaised(level, logger, word);
        }
        int all = word >>> 8 & 0xFF;
        return all != 0 && level >= all;
    }

    private boolean isRaised(int level, String logger, int word) {
        Loggers rules = loggers;
        if (rules == null || rules.word != word) {
            rules = Loggers.read(buffer, word);
            if (rules == null) {
                return false; // the next call looks again
            }
            loggers = rules;
        }
        return level >= rules.level(logger);
    }

    boolean isAbandoned() {
        return (int) INT.getOpaque(buffer, ABANDONED_AT) != 0;
    }

    /** Writes an event with a text, which may be null and has at most a third of MAX_PAYLOAD characters. */
    boolean event(int level, int id, String text, long nanos) {
        int length = text == null ? 0 : Utf8.size(text);
        int need = size(length);
        long position = claim(need, level, waitLevel);
        if (position < 0) {
            return false;
        }
        try {
            int at = begin(position, length, nanos, id);
            if (length > 0) {
                Utf8.put(text, length, buffer, at + PAYLOAD_AT);
            }
            LONG.setRelease(buffer, at, word(length, level, TEXT, 0, position));
            return true;
        } catch (StackOverflowError e) { // no stack is left for a call
            openPosition = position;
            openSize = need;
            openLevel = level;
            hasOpen = true;
            return false;
        }
    }

    /** Writes an event with the first {@code count} of the three arguments for a template. */
    boolean longs(int level, int template, int count, long a, long b, long c, long nanos) {
        int length = count * Long.BYTES;
        int need = size(length);
        long position = claim(need, level, waitLevel);
        if (position < 0) {
            return false;
        }
        try {
            int at = begin(position, length, nanos, template);
            buffer.putLong(at + PAYLOAD_AT, a);
            if (count > 1) {
                buffer.putLong(at + PAYLOAD_AT + 8, b);
            }
            if (count > 2) {
                buffer.putLong(at + PAYLOAD_AT + 16, c);
            }
            LONG.setRelease(buffer, at, word(length, level, LONGS, 0, position));
            return true;
        } catch (StackOverflowError e) { // no stack is left for a call
            openPosition = position;
            openSize = need;
            openLevel = level;
            hasOpen = true;
            return false;
        }
    }

    /** Writes an event with a finished payload, which is from a direct call or from a front end. */
    boolean bytes(boolean direct, int level, int kind, int id, int flags, byte[] payload, int length, long nanos) {
        int need = size(length);
        long position = claim(need, level, direct ? waitLevel : lineWaitLevel);
        if (position < 0) {
            return false;
        }
        try {
            int at = begin(position, length, nanos, id);
            buffer.put(at + PAYLOAD_AT, payload, 0, length);
            LONG.setRelease(buffer, at, word(length, level, kind, flags, position));
            return true;
        } catch (StackOverflowError e) { // no stack is left for a call
            openPosition = position;
            openSize = need;
            openLevel = level;
            hasOpen = true;
            return false;
        }
    }

    /**
     * Claims a number of bytes in one piece.
     *
     * @return the position, or -1 if the ring is too full: the event is then counted as dropped
     */
    private long claim(int need, int level, int waitLevel) {
        if (hasOpen) {
            completeOpen();
        }
        long limit = level < keepLevel ? lowLimit : highLimit; // the tail of a closed ring is always above it
        long since = 0; // when the wait for room began; 0: not yet
        for (;;) {
            long tail = (long) LONG.getOpaque(buffer, TAIL_AT);
            int rest = capacity - (int) (tail & capacity - 1);
            int pad = need <= rest ? 0 : rest;
            long next = tail + pad + need;
            if (next - head() > limit) {
                if (level >= waitLevel && (since = waitForRoom(since)) != 0) {
                    continue;
                }
                count(level, level < keepLevel ? BELOW_KEEP : FULL, need);
                return -1;
            }
            if (LONG.weakCompareAndSetPlain(buffer, TAIL_AT, tail, next)) {
                if (pad > 0) {
                    try {
                        pad(tail, pad);
                    } catch (StackOverflowError e) {
                        openPosition = tail;
                        openSize = pad + need;
                        openLevel = level;
                        hasOpen = true;
                        throw e;
                    }
                }
                return tail + pad;
            }
        }
    }

    /**
     * Waits for a moment, in which the sidecar may make room.
     *
     * @param since the time when the caller began to wait, or 0
     * @return the time when the caller began to wait, or 0 if it must not wait any longer. If the sidecar made no room
     *     in all that time, no call waits again before the head has moved: otherwise each event would wait that long
     *     for a sidecar that is gone
     */
    private long waitForRoom(long since) {
        long now = System.nanoTime() | 1;
        long head = head();
        if (isAbandoned() || stalledHead == head || ((long) LONG.getOpaque(buffer, TAIL_AT) & CLOSED) != 0) {
            return 0;
        }
        if (since != 0 && now - since >= waitNanos) {
            stalledHead = head;
            return 0;
        }
        if (Thread.currentThread().isInterrupted()) {
            Thread.yield(); // an interrupted thread cannot park
        } else {
            LockSupport.parkNanos(WAIT_STEP);
        }
        return since == 0 ? now : since;
    }

    /**
     * The position up to which the sidecar has freed the ring. If the head does not match its complement, the sidecar
     * is writing it at the moment; then the previous head is used.
     */
    private long head() {
        long head = (long) LONG.getAcquire(buffer, HEAD_AT);
        long last = lastHead;
        if (head == last || (long) LONG.getOpaque(buffer, HEAD_COMPLEMENT_AT) != ~head) {
            return last;
        }
        lastHead = head;
        return head;
    }

    /** Makes the claim visible, with its length, before the rest of the record. */
    private int begin(long position, int length, long nanos, int id) {
        int at = index(position);
        LONG.setOpaque(buffer, at, claimed(length));
        VarHandle.storeStoreFence();
        buffer.putLong(at + TIME_AT, nanos);
        buffer.putLong(at + ID_AT, id & 0xFFFFFFFFL | Thread.currentThread().getId() << 32);
        return at;
    }

    private int index(long position) {
        return DATA_AT + (int) (position & capacity - 1);
    }

    /** Completes a claim without an event in it. A pad may be as small as its word. */
    private void pad(long position, int bytes) {
        LONG.setRelease(buffer, index(position), word(bytes, 0, PAD, 0, position));
    }

    /**
     * Completes the claim of a thread that ran out of stack, as a pad. Otherwise the sidecar would wait for the claim,
     * and that thread may never log again. If this thread has no stack left either, the claim stays open.
     */
    private void completeOpen() {
        synchronized (lock) {
            if (!hasOpen) {
                return;
            }
            long position = openPosition;
            int size = openSize;
            int level = openLevel;
            hasOpen = false;
            try {
                if (level > 0) {
                    count(level, FULL, size);
                    level = 0;
                }
                int rest = capacity - (int) (position & capacity - 1);
                if (rest < size) { // first the part that the reader cannot reach yet
                    pad(position + rest, size - rest);
                }
                pad(position, Math.min(rest, size));
            } catch (StackOverflowError e) {
                openLevel = level;
                hasOpen = true;
                throw e;
            }
        }
    }

    private void count(int level, int reason, int size) {
        LONG.getAndAdd(buffer, DROPS_AT + (reason * LEVELS + level) * Long.BYTES, 1L);
        LONG.getAndAdd(buffer, DROPPED_BYTES_AT, (long) size);
    }

    /** Counts events that were logged before the ring existed. */
    void addDropped(int level, long n) {
        if (n > 0) {
            LONG.getAndAdd(buffer, DROPS_AT + (FULL * LEVELS + level) * Long.BYTES, n);
        }
    }

    /** Prevents further claims. The sidecar may remove the ring once it has read the claimed records. */
    void close() {
        LONG.getAndBitwiseOr(buffer, TAIL_AT, CLOSED);
    }

    long dropped(int level) {
        long n = 0;
        for (int reason = BELOW_KEEP; reason <= FULL; reason++) {
            n += (long) LONG.getOpaque(buffer, DROPS_AT + (reason * LEVELS + level) * Long.BYTES);
        }
        return n;
    }

    /** The bytes that the sidecar has not freed yet. */
    long backlog() {
        long head = head();
        return Math.max(0, ((long) LONG.getAcquire(buffer, TAIL_AT) & ~CLOSED) - head);
    }

    /** Appends a template. The caller holds the lock of all templates. */
    boolean template(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > MAX_TEMPLATE || templatesEnd + 2 + bytes.length > DATA_AT) {
            return false;
        }
        buffer.put(templatesEnd + 2, bytes);
        VarHandle.releaseFence();
        buffer.putShort(templatesEnd, (short) bytes.length); // a reader waits until this is not 0
        templatesEnd += 2 + bytes.length;
        return true;
    }
}
