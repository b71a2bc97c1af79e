package dev.ullage.log;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The text of a record, in UTF-8. A text that is too long for a record is cut in the middle: it keeps its end,
 * because the last lines of a Java stack trace are its cause. A note in the middle says how many bytes are left out.
 */
final class Ends {
    private static final int FIRST_SIZE = 1 << 10;
    /** The bytes kept of the beginning of a text that is too long. The rest of the record is for its end. */
    private static final int BEGINNING = Layout.MAX_PAYLOAD / 2;
    private static final int NOTE = 64;
    private static final int END = Layout.MAX_PAYLOAD - BEGINNING - NOTE;
    /** The largest distance over which a cut moves to the end of a line. */
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

    /** The number of bytes appended, including those that were not kept. */
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

    /** Appends bytes, without a check that they are UTF-8. */
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

    /** Removes line feeds from the end, but keeps at least so many bytes. */
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

    /** Divides the text into a beginning and an end, for this and all further bytes. */
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
     * Joins the two ends, with a note between them.
     *
     * @param mark an index into the whole text
     * @return its index in {@link #bytes}, or the end of the note if it was left out
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

    /** The newest bytes, in order. */
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

    /** The text after {@link #join}. Only the first {@link #length} bytes are valid. */
    byte[] bytes() {
        return bytes;
    }
}
