package dev.ullage.log;

import java.io.PrintWriter;
import java.io.Writer;
import java.util.Arrays;

/**
 * A record that a front end of a logging library puts together: {@code [thread] logger}, the
 * message, and further lines such as a stack trace. {@link EventLog#line} returns one.
 *
 * <p>A line belongs to the thread that got it, until {@link #send}. No method blocks or throws.
 * Appending allocates only until the buffer is large enough for the longest line so far. What is
 * beyond 32 KiB is cut off, between two characters, and the record is flagged.
 */
public final class Line {
    private static final int FIRST_SIZE = 1 << 10;

    private final EventLog log;
    private final LinePool pool;
    private final int slot;
    private final StringBuilder scratch = new StringBuilder(FIRST_SIZE);
    private byte[] bytes = new byte[FIRST_SIZE];
    private int end;
    private int head; // where the first line ends, or -1 while nothing follows it
    private int flags;
    private boolean open;
    private boolean inProperties;

    Line(EventLog log, LinePool pool, int slot) {
        this.log = log;
        this.pool = pool;
        this.slot = slot;
    }

    Line open() {
        end = 0;
        head = -1;
        flags = 0;
        open = true;
        inProperties = false;
        scratch.setLength(0);
        return this;
    }

    Line begin(String thread, String logger) {
        return append("[").append(thread).append("] ").append(logger);
    }

    /**
     * Appends a property of the context that a library keeps, such as an MDC: {@code {key=value,key=value}}. It
     * comes before markers and the message.
     *
     * @param key the name of the property; may be null
     * @param value is written by its toString; may be null
     * @return this line
     */
    public Line property(String key, Object value) {
        append(inProperties ? "," : " {").append(key).append("=").append(String.valueOf(value));
        inProperties = true;
        return this;
    }

    /**
     * Appends a marker: {@code <name>}. It comes before the message.
     *
     * @param name the name of the marker; may be null
     * @return this line
     */
    public Line marker(String name) {
        return endProperties().append(" <").append(name).append(">");
    }

    /**
     * Appends the message. Line feeds in it do not end the first line of the record: they are shown as
     * {@code \n}.
     *
     * @param text may be null, and is then written as such
     * @return this line
     */
    public Line message(CharSequence text) {
        return endProperties().append(" ").append(text);
    }

    private Line endProperties() {
        if (inProperties) {
            inProperties = false;
            append("}");
        }
        return this;
    }

    /**
     * Appends text as further lines of the record, which line feeds separate.
     *
     * @param text may be null: nothing is appended
     * @return this line
     */
    public Line further(CharSequence text) {
        if (text == null) {
            return this;
        }
        endFirstLine();
        append(text);
        return trim();
    }

    /**
     * Appends the stack trace of a throwable, with its causes, as further lines. It allocates. A
     * throwable that fails to print itself is cut off where it failed.
     *
     * @param thrown may be null: nothing is appended
     * @return this line
     */
    public Line thrown(Throwable thrown) {
        if (thrown == null) {
            return this;
        }
        endFirstLine();
        try {
            thrown.printStackTrace(new PrintWriter(new Trace()));
        } catch (RuntimeException | StackOverflowError e) {
            flags |= Layout.CUT;
        }
        return trim();
    }

    private void endFirstLine() {
        if (head < 0) {
            endProperties();
            head = end;
        } else {
            append("\n");
        }
    }

    /** Removes line feeds from the end of further lines. */
    private Line trim() {
        while (end > head && bytes[end - 1] == '\n') {
            end--;
        }
        return this;
    }

    /**
     * Returns a builder for libraries that format into one. What is in it becomes part of the record only
     * when it is passed to {@link #message}.
     *
     * @return the line's own builder, empty in a new line
     */
    public StringBuilder scratch() {
        return scratch;
    }

    /**
     * Writes the record into the ring and gives the line back.
     *
     * @param level from {@link EventLog#TRACE} to {@link EventLog#ERROR}
     * @return whether it was kept; false as well if the line was sent before
     */
    public boolean send(int level) {
        return send(level, System.nanoTime());
    }

    boolean send(int level, long nanos) {
        endProperties();
        return sendAs(Layout.LINE, level, head < 0 ? end : head, nanos);
    }

    boolean sendAs(int kind, int level, int id, long nanos) {
        if (!open) {
            return false;
        }
        open = false;
        boolean kept = log.write(level, kind, id, flags, bytes, end, nanos);
        if (scratch.capacity() <= Layout.MAX_PAYLOAD) { // else it would stay so large
            pool.give(this, slot);
        }
        return kept;
    }

    Line append(CharSequence text) {
        if (!open || (flags & Layout.CUT) != 0) {
            return this;
        }
        CharSequence s = text == null ? "null" : text;
        int n = s.length();
        grow(n);
        int to = Utf8.put(s, bytes, end, bytes.length);
        if (to < 0 && bytes.length < Layout.MAX_PAYLOAD) { // it is not ASCII
            grow(3L * n);
            to = Utf8.put(s, bytes, end, bytes.length);
        }
        if (to < 0) {
            flags |= Layout.CUT | Layout.UTF8;
            to = ~to;
        } else if (to - end != n) {
            flags |= Layout.UTF8;
        }
        end = to;
        return this;
    }

    /** Makes room for more bytes, as far as a record may have them. */
    private void grow(long more) {
        if (end + more > bytes.length && bytes.length < Layout.MAX_PAYLOAD) {
            long size = Math.max(2L * bytes.length, end + more);
            bytes = Arrays.copyOf(bytes, (int) Math.min(size, Layout.MAX_PAYLOAD));
        }
    }

    /** Takes what a throwable prints. */
    private final class Trace extends Writer {
        @Override
        public void write(char[] from, int offset, int length) {
            Line.this.append(new String(from, offset, length));
        }

        @Override
        public void write(String from, int offset, int length) {
            Line.this.append(from.substring(offset, offset + length));
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
