package dev.ullage.log;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The text of a record, in UTF-8. If a text is too long for a record, it keeps the beginning and the end: the last
 * lines of a Java stack trace are its cause. Between them it says how many bytes are left out.
 */
final class Ends {
    private static final int FIRST_SIZE = 1 << 10;
    /** So much of the beginning is kept of a text that is too long; the rest of a record is the end of the text. */
    private static final int BEGINNING = Layout.MAX_PAYLOAD / 2;
    private static final int NOTE = 64;
    private static final int END = Layout.MAX_PAYLOAD - BEGINNING - NOTE;
    /** A cut is moved to the end of a line that is not farther away. */
    private static final int NEAR = 512;
    private static final int CHUNK = 1 << 10; // characters

    private byte[] bytes = new byte[FIRST_SIZE];
    private int size; // of what is in bytes: all, or the beginning
    private byte[] last; // a ring of the newest bytes after the beginning; null until it is needed
    private byte[] chunk;
    private long beyond; // bytes after the beginning, 0 while all fits
    private int kept; // of these, in last: those before beyond % END

    void clear() {
        size = 0;
        beyond = 0;
        kept = 0;
    }

    /** How many bytes were appended, whether or not they are kept. */
    long length() {
        return size + beyond;
    }

    boolean isCut() {
        return beyond > 0;
    }

    void append(CharSequence s) {
        int n = s.length();
        if (beyond == 0) {
            grow(n);
            int to = Utf8.put(s, bytes, size, bytes.length);
            if (to < 0 && bytes.length < Layout.MAX_PAYLOAD) { // it is not ASCII
                grow(3L * n);
                to = Utf8.put(s, bytes, size, bytes.length);
            }
            if (to >= 0) {
                size = to;
                return;
            }
            split();
        }
        for (int i = 0; i < n; ) {
            int end = Math.min(n, i + CHUNK);
            if (end < n && Character.isHighSurrogate(s.charAt(end - 1))) {
                end--;
            }
            end = Math.max(end, i + 1);
            add(chunk, 0, Utf8.put(s.subSequence(i, end), chunk, 0, chunk.length));
            i = end;
        }
    }

    /** Appends bytes, which are UTF-8 if anything is. */
    void append(byte[] from, int length) {
        if (beyond == 0) {
            grow(length);
            if (size + length <= bytes.length) {
                System.arraycopy(from, 0, bytes, size, length);
                size += length;
                return;
            }
            split();
        }
        add(from, 0, length);
    }

    /** Removes line feeds from the end, down to a length. */
    void trim(long least) {
        while (length() > least) {
            if (beyond == 0 && bytes[size - 1] == '\n') {
                size--;
            } else if (beyond > 1 && kept > 0 && last[(int) ((beyond - 1) % END)] == '\n') {
                beyond--;
                kept--;
            } else {
                return;
            }
        }
    }

    /** From here on there is a beginning and an end. */
    private void split() {
        if (last == null) {
            last = new byte[END];
            chunk = new byte[4 * CHUNK];
        }
        int all = size;
        size = Math.min(size, BEGINNING);
        add(bytes, size, all - size);
    }

    private void add(byte[] from, int at, int length) {
        int first = Math.min(length, BEGINNING - size);
        if (first > 0) {
            System.arraycopy(from, at, bytes, size, first);
            size += first;
        }
        for (int i = Math.max(first, 0); i < length; ) {
            int to = (int) (beyond % END);
            int n = Math.min(length - i, END - to);
            System.arraycopy(from, at + i, last, to, n);
            beyond += n;
            kept = Math.min(END, kept + n);
            i += n;
        }
    }

    /** Makes room for more bytes, up to the size of a record. */
    private void grow(long more) {
        if (size + more > bytes.length && bytes.length < Layout.MAX_PAYLOAD) {
            long room = Math.max(2L * bytes.length, size + more);
            bytes = Arrays.copyOf(bytes, (int) Math.min(room, Layout.MAX_PAYLOAD));
        }
    }

    /**
     * Puts the two ends together, with a note between them.
     *
     * @param mark a place in the text
     * @return where that place is in {@link #bytes} now, or the end of the note if it was left out
     */
    int join(long mark) {
        if (beyond == 0) {
            return (int) mark;
        }
        byte[] end = end();
        int from = 0;
        while (from < end.length && (end[from] & 0xC0) == 0x80) {
            from++;
        }
        int to = size;
        int lead = size - 1; // of the last character of the beginning, which may be cut
        while (lead > size - 4 && (bytes[lead] & 0xC0) == 0x80) {
            lead--;
        }
        if ((bytes[lead] & 0x80) != 0 && lead + Integer.numberOfLeadingZeros(~(bytes[lead] << 24)) > size) {
            to = lead;
        }
        boolean further = mark <= to; // the cut is between further lines
        if (further) {
            int line = lastFeed(to);
            to = line > mark ? line : to;
            int next = firstFeed(end, from);
            from = next < 0 ? from : next + 1;
        }
        long all = length();
        long left = all - to - (end.length - from);
        String note = further ? "\n... " + left + " bytes left out ...\n" : " ... " + left + " bytes left out ... ";
        byte[] between = note.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(between, 0, bytes, to, between.length);
        System.arraycopy(end, from, bytes, to + between.length, end.length - from);
        size = to + between.length + end.length - from;
        beyond = 0;
        if (mark <= to) {
            return (int) mark;
        }
        long inEnd = mark - (all - (end.length - from));
        return to + between.length + (int) Math.max(0, inEnd);
    }

    /** The newest bytes in their order. */
    private byte[] end() {
        byte[] end = new byte[kept];
        int at = (int) ((beyond - kept) % END);
        int first = Math.min(kept, END - at);
        System.arraycopy(last, at, end, 0, first);
        System.arraycopy(last, 0, end, first, kept - first);
        return end;
    }

    private int lastFeed(int to) {
        for (int i = to - 1; i >= Math.max(0, to - NEAR); i--) {
            if (bytes[i] == '\n') {
                return i;
            }
        }
        return -1;
    }

    private static int firstFeed(byte[] end, int from) {
        for (int i = from; i < Math.min(end.length, from + NEAR); i++) {
            if (end[i] == '\n') {
                return i;
            }
        }
        return -1;
    }

    /** What was appended, after {@link #join}: as many bytes as {@link #length} says. */
    byte[] bytes() {
        return bytes;
    }
}
