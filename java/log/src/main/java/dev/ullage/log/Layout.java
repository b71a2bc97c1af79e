package dev.ullage.log;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The layout of a ring file, version 2. All numbers are little endian. The sidecar has the same constants in
 * {@code internal/ship/ring}; the golden file in its testdata ensures that both agree.
 *
 * <p>The file begins with a header, followed by the control block (tail, head, drop counters), the templates, and the
 * data. A record begins at a multiple of 8 bytes and never wraps around. It consists of a word, nanoTime, id and
 * thread, and the payload. The word is written twice: first as the negative length, which claims the record, and last
 * as the complete word.
 */
final class Layout {
    private Layout() {}

    /** "ULGGRNG1": written last, so that a file that contains it has a complete header. */
    static final long MAGIC = 0x31474E5247474C55L;
    static final int VERSION = 2;

    // The header. The JVM writes it once, before the file gets its name.
    static final int VERSION_AT = 8, DATA_OFFSET_AT = 12, CAPACITY_AT = 16, STRIPES_AT = 24, MAX_PAYLOAD_AT = 28;
    static final int PID_AT = 32, NANO_TIME_AT = 40, WALL_AT = 48, FLAGS_AT = 56;

    // Only the sidecar writes these: the raised levels, whether it abandoned the ring, and the raised loggers.
    // RAISED_AT has the lowest level of any logger, the level of loggers without a rule << 8, and the generation of
    // the rules << 16, or 0 without rules. LOGGERS_AT has a CRC-32C of the bytes after it, the generation of the rules,
    // the length of their text, and the text.
    static final int RAISED_AT = 128, ABANDONED_AT = 132, LOGGERS_AT = 256, LOGGERS_TEXT = 12, MAX_LOGGERS = 512;

    // The control block. The sidecar writes the head and its complement, the JVM the rest.
    static final int TAIL_AT = 4096, HEAD_AT = TAIL_AT + 128, HEAD_COMPLEMENT_AT = HEAD_AT + 8;
    /** A bit of the tail: the writer has returned the ring and claims no further record. */
    static final long CLOSED = 1L << 62;
    static final int DROPS_AT = TAIL_AT + 256, DROPPED_BYTES_AT = DROPS_AT + 96;
    static final int LEVELS = 6;
    /** Why an event was dropped: the ring was too full for its level, or for any level. */
    static final int BELOW_KEEP = 0, FULL = 1;

    static final int TEMPLATES_AT = 36864, DATA_AT = 65536;
    static final int MAX_TEMPLATE = 1024;

    // A record.
    static final int TIME_AT = 8, ID_AT = 16, PAYLOAD_AT = 24;
    static final int MAX_PAYLOAD = 32 << 10;
    static final int PAD = 1, TEXT = 2, LONGS = 3, LINE = 4, OWN = 5;
    static final int CUT = 2;

    static final VarHandle LONG = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    /** The size of a record with a payload of length bytes. */
    static int size(int length) {
        return (PAYLOAD_AT + length + 7) & ~7;
    }

    /** The word of a claimed record that is not complete. */
    static long claimed(int length) {
        return -(length + 1L) & 0xFFFFFFFFL;
    }

    /**
     * The word of a complete record: length, level, kind, flags, and a check of these and the position. The check
     * distinguishes a word from similar bytes of a message.
     */
    static long word(int length, int level, int kind, int flags, long position) {
        long w = (length + 1L) | (long) (level | kind << 4 | flags << 8) << 32;
        long hash = w * 0x9E3779B97F4A7C15L + position * 0xC2B2AE3D27D4EB4FL;
        return w | (hash >>> 48) << 48;
    }
}
