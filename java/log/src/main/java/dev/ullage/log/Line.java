package dev.ullage.log;

import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * A record that a front end of a logging library composes: {@code [thread] logger}, the context, the message, and
 * further lines such as a stack trace. {@link EventLog#line} returns one.
 *
 * <p>A line belongs to the thread that got it until {@link #send}. No method throws. Only {@link #send} may wait,
 * according to the setting {@code wait}. Appending allocates only until the buffer is large enough for the longest
 * line so far. A record of more than 32 KiB keeps its beginning and its end. A note between them says how many bytes
 * are missing, the sidecar writes a line about it after the record, and {@code ullage check} reports that the log is
 * not complete.
 *
 * <p><b>Form.</b> {@code [thread] logger {key=value,key=value} <marker> message}. A key, a value or the name of a
 * marker is in quotes unless it consists of letters, digits and {@code ._-:/@+}; in quotes, a backslash precedes
 * each quote and each backslash. If a message begins with a brace, {@code <} or {@code -}, {@code "- "} precedes it. A
 * reader can therefore separate the parts, whatever they contain.
 */
public final class Line {
    private final EventLog log;
    private final LinePool pool;
    private final int slot;
    private final StringBuilder scratch = new StringBuilder(1 << 10);
    private final Ends text = new Ends();
    private long head; // where the first line ends, or -1 while nothing follows it
    private boolean cut;
    private boolean open;
    private boolean direct; // called by the application itself, not by a front end
    private boolean inProperties;

    Line(EventLog log, LinePool pool, int slot) {
        this.log = log;
        this.pool = pool;
        this.slot = slot;
    }

    Line open(boolean direct) {
        this.direct = direct;
        text.clear();
        head = -1;
        cut = false;
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
     * @param value written as its toString; may be null
     * @return this line
     */
    public Line property(String key, Object value) {
        append(inProperties ? "," : " {").word(key).append("=").word(shown(value));
        inProperties = true;
        return this;
    }

    /** If a value's toString fails, the event must still be logged. */
    private static String shown(Object value) {
        try {
            return String.valueOf(value);
        } catch (RuntimeException | StackOverflowError e) {
            return "(its toString failed: " + e.getClass().getName() + ")";
        }
    }

    /**
     * Appends a marker: {@code <name>}. It comes before the message.
     *
     * @param name the name of the marker; may be null
     * @return this line
     */
    public Line marker(String name) {
        return endProperties().append(" <").word(name).append(">");
    }

    /**
     * Appends the message. Line feeds in it do not end the first line of the record; they are shown as {@code \n}.
     *
     * @param text if null, "null" is written
     * @return this line
     */
    public Line message(CharSequence text) {
        return endProperties().append(needsDash(text) ? " - " : " ").append(text);
    }

    /** Whether a message could be taken for a context or a marker. */
    private static boolean needsDash(CharSequence text) {
        if (text == null || text.length() == 0) {
            return false;
        }
        char first = text.charAt(0);
        return first == '{' || first == '<' || first == '-';
    }

    private Line endProperties() {
        if (inProperties) {
            inProperties = false;
            append("}");
        }
        return this;
    }

    /** Appends a word unchanged, and any other text in quotes. */
    private Line word(String s) {
        String text = s == null ? "null" : s;
        if (isWord(text)) {
            return append(text);
        }
        StringBuilder quoted = new StringBuilder(text.length() + 8).append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                quoted.append('\\');
            }
            quoted.append(c);
        }
        return append(quoted.append('"'));
    }

    private static boolean isWord(String text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || "._-:/@+".indexOf(c) >= 0)
                    && (c < 0x80 || !Character.isLetterOrDigit(c))) {
                return false;
            }
        }
        return !text.isEmpty();
    }

    /**
     * Appends text as further lines of the record, separated by its line feeds.
     *
     * @param text may be null: nothing is appended
     * @return this line
     */
    public Line further(CharSequence text) {
        if (text == null) {
            return this;
        }
        if (head < 0) {
            endProperties();
            head = this.text.length();
        } else {
            append("\n");
        }
        append(text);
        this.text.trim(head); // line feeds at the end
        return this;
    }

    /**
     * Appends the stack trace of a throwable, with its causes, as further lines. It allocates. If the throwable fails
     * to print itself, the text ends there.
     *
     * @param thrown may be null: nothing is appended
     * @return this line
     */
    public Line thrown(Throwable thrown) {
        if (thrown == null) {
            return this;
        }
        StringWriter trace = new StringWriter();
        try {
            thrown.printStackTrace(new PrintWriter(trace));
        } catch (RuntimeException | StackOverflowError e) {
            cut = true;
        }
        return further(trace.getBuffer());
    }

    /**
     * Returns a builder for libraries that format into a builder. Its content becomes part of the record only when it
     * is passed to {@link #message}.
     *
     * @return the line's own builder, which is empty when {@link EventLog#line} returns the line
     */
    public StringBuilder scratch() {
        return scratch;
    }

    /**
     * Writes the record into the ring and returns the line to the pool.
     *
     * @param level from {@link EventLog#TRACE} to {@link EventLog#ERROR}
     * @return whether it was kept; false as well if the line was sent before
     */
    public boolean send(int level) {
        return send(level, System.nanoTime());
    }

    boolean send(int level, long nanos) {
        endProperties();
        return sendAs(Layout.LINE, level, head < 0 ? text.length() : head, nanos);
    }

    /** Sends the record. The id is a number or, for a LINE, an index into the text. */
    boolean sendAs(int kind, int level, long id, long nanos) {
        if (!open) {
            return false;
        }
        open = false;
        int flags = cut || text.isCut() ? Layout.CUT : 0;
        int place = text.join(kind == Layout.LINE ? id : text.length());
        int length = (int) text.length();
        boolean kept = log.write(direct, level, kind, kind == Layout.LINE ? place : (int) id, flags, text.bytes(), length, nanos);
        if (scratch.capacity() <= Layout.MAX_PAYLOAD) { // else the line would keep its large buffer
            pool.give(this, slot);
        }
        return kept;
    }

    Line append(CharSequence s) {
        if (open) {
            text.append(s == null ? "null" : s);
        }
        return this;
    }

    Line append(byte[] lines) {
        if (open) {
            text.append(lines, lines.length);
        }
        return this;
    }
}
