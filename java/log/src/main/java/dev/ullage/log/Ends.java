package dev.ullage.log;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The text of a record, in UTF-8. A text that is too long for a record is cut in the middle: it keeps its end, because
 * the last lines of a Java stack trace show the root cause. A note in the middle says how many bytes are left out.
 */
final class Ends {
    private static final int FIRST_SIZE = 1 << 10;
    /** How many bytes of the beginning of a long text are kept. The rest of the record is for the end of the text. */
    private static final int BEGINNING = Layout.MAX_PAYLOAD / 2;
    private static final int NOTE = 64;
    private static final int END = Layout.MAX_PAYLOAD - BEGINNING - NOTE;
    /** The maximum number of bytes in memory. A longer text loses bytes between its beginning and its end. */
    private static final int MOST = 2 * Layout.MAX_PAYLOAD;
    /** The largest distance over which a cut moves to the end of a line. */
    private static final int NEAR = 512;
    /** The maximum number of characters or bytes that are appended at once. */
    private static final int PIECE = 1 << 10;

    private byte[] bytes = new byte[FIRST_SIZE];
    private int size;
    private long left; // bytes left out after the beginning

    void clear() {
        size = 0;
        left = 0;
    }

    /** The number of bytes appended, including those that are left out. */
    long length() {
        return size + left;
    }

    boolean isCut() {
        return length() > Layout.MAX_PAYLOAD;
    }

    void append(CharSequence s) {
        int n = s.length();
        for (int i = 0; i < n; ) {
            int end = Math.min(n, i + PIECE);
            if (end < n && Character.isHighSurrogate(s.charAt(end - 1))) {
                end--;
            }
            reserve(3 * (end - i));
            size = Utf8.put(s, i, end, bytes, size);
            i = end;
        }
    }

    /** Appends bytes without checking that they are UTF-8. */
    void append(byte[] from, int length) {
        for (int i = 0; i < length; i += PIECE) {
            int n = Math.min(PIECE, length - i);
            reserve(n);
            System.arraycopy(from, i, bytes, size, n);
            size += n;
        }
    }

    /** Removes line feeds from the end, but keeps at least the given number of bytes. */
    void trim(long least) {
        while (length() > least && size > (left > 0 ? BEGINNING : 0) && bytes[size - 1] == '\n') {
            size--;
        }
    }

    /** Makes room for the bytes of one more piece. */
    private void reserve(int more) {
        if (size + more > MOST) {
            System.arraycopy(bytes, size - END, bytes, BEGINNING, END);
            left += size - (BEGINNING + END);
            size = BEGINNING + END;
        }
        if (size + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.min(MOST, Math.max(2 * bytes.length, size + more)));
        }
    }

    /**
     * Cuts a text that is too long, and puts a note between its two ends.
     *
     * @param mark an index into the whole text
     * @return the mark's index in {@link #bytes}, or the end of the note if the byte at the mark was left out
     */
    int join(long mark) {
        if (!isCut()) {
            return (int) mark;
        }
        int to = BEGINNING;
        int from = Math.max(to, size - END);
        while (from < size && (bytes[from] & 0xC0) == 0x80) {
            from++;
        }
        int lead = to - 1; // the first byte of the beginning's last character, which may be cut
        while (lead > to - 4 && (bytes[lead] & 0xC0) == 0x80) {
            lead--;
        }
        if ((bytes[lead] & 0x80) != 0 && lead + Integer.numberOfLeadingZeros(~(bytes[lead] << 24)) > to) {
            to = lead;
        }
        boolean further = mark <= to; // the cut is between further lines
        if (further) {
            int line = feed(to - 1, Math.max(0, to - NEAR) - 1, -1);
            to = line > mark ? line : to;
            from = feed(from, Math.min(size, from + NEAR), 1) + 1;
        }
        long out = left + from - to;
        String note = further ? "\n... " + out + " bytes left out ...\n" : " ... " + out + " bytes left out ... ";
        byte[] between = note.getBytes(StandardCharsets.US_ASCII);
        int end = to + between.length;
        System.arraycopy(bytes, from, bytes, end, size - from);
        System.arraycopy(between, 0, bytes, to, between.length);
        size = end + size - from;
        left = 0;
        return mark <= to ? (int) mark : (int) Math.max(end, mark - out + between.length);
    }

    /**
     * Returns the index of the first line feed on the way from one index to another, which is not included. If there
     * is no line feed, it returns the index one step before the first index.
     */
    private int feed(int from, int to, int step) {
        for (int i = from; i != to; i += step) {
            if (bytes[i] == '\n') {
                return i;
            }
        }
        return from - step;
    }

    /** The text after {@link #join}. Only the first {@link #length} bytes are valid. */
    byte[] bytes() {
        return bytes;
    }
}
