package dev.ullage.log;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/**
 * The setting {@code ULLAGE_EVENTS}: {@code DIR[,size=4Mi][,keep=warning][,level=info][,wait=error:20ms]}.
 *
 * @param directory the directory of ring files
 * @param capacity the size of a ring in bytes: a power of two from {@link #MIN_CAPACITY} to {@link #MAX_CAPACITY}
 * @param keepLevel events below it are dropped when the ring is half full, the others only when the ring is full
 * @param baseLevel the lowest level that is enabled while the sidecar raises none
 * @param patience which events wait for room in a full ring, and for how long
 */
record Settings(Path directory, int capacity, int keepLevel, int baseLevel, Patience patience) {
    /** Half of the smallest ring has room for the largest record and a pad of the same size. */
    static final int MIN_CAPACITY = 256 << 10;
    static final int MAX_CAPACITY = 1 << 30;
    static final int DEFAULT_CAPACITY = 4 << 20;

    /**
     * The events that wait for room.
     *
     * @param level direct calls at this level and above wait; a value above all levels: no call waits
     * @param lineLevel the lines of front ends at this level and above wait
     * @param nanos the longest wait
     */
    record Patience(int level, int lineLevel, long nanos) {
        private static final int NEVER = EventLog.ERROR + 1;
        /** Users of logging libraries are used to waits; direct calls are for code that must not wait. */
        static final Patience DEFAULT = new Patience(NEVER, EventLog.ERROR, 20_000_000);
        static final Patience NONE = new Patience(NEVER, NEVER, 0);

        static Patience parse(String text) {
            if (text.equals("off")) {
                return NONE;
            }
            int colon = text.indexOf(':');
            String time = text.substring(colon + 1);
            String digits = time.endsWith("ms") ? time.substring(0, time.length() - 2) : "";
            if (colon < 0 || digits.isEmpty() || digits.length() > 5 || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
                throw new IllegalArgumentException("not a level and a time from 0ms to 99999ms: \"" + text + "\"");
            }
            int from = Settings.level(text.substring(0, colon));
            return new Patience(from, from, Long.parseLong(digits) * 1_000_000);
        }
    }

    /**
     * Parses a setting.
     *
     * @throws IllegalArgumentException if it is invalid, with a message for people
     */
    static Settings parse(String setting) {
        String[] parts = setting.split(",");
        if (parts.length == 0 || parts[0].isBlank()) {
            throw new IllegalArgumentException("no directory in \"" + setting + "\"");
        }
        int capacity = DEFAULT_CAPACITY;
        int keep = EventLog.WARNING;
        int base = EventLog.INFO;
        Patience patience = Patience.DEFAULT;
        for (int i = 1; i < parts.length; i++) {
            String part = parts[i].strip();
            int equals = part.indexOf('=');
            String value = part.substring(equals + 1);
            switch (equals < 0 ? part : part.substring(0, equals + 1)) {
                case "size=" -> capacity = capacity(value);
                case "keep=" -> keep = level(value);
                case "level=" -> base = level(value);
                case "wait=" -> patience = Patience.parse(value);
                default -> throw new IllegalArgumentException("unknown option \"" + part + "\"");
            }
        }
        return new Settings(directory(parts[0].strip()), capacity, keep, base, patience);
    }

    private static Path directory(String name) {
        try {
            return Path.of(name);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("not a directory: \"" + name + "\"", e);
        }
    }

    private static int capacity(String text) {
        int shift = text.endsWith("Ki") ? 10 : text.endsWith("Mi") ? 20 : text.endsWith("Gi") ? 30 : 0;
        String digits = shift == 0 ? text : text.substring(0, text.length() - 2);
        if (digits.isEmpty() || digits.length() > 10 || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
            throw new IllegalArgumentException("not a size: \"" + text + "\"");
        }
        long bytes = Long.parseLong(digits);
        if (bytes > (long) MAX_CAPACITY >> shift || bytes << shift < MIN_CAPACITY) {
            throw new IllegalArgumentException("the size \"" + text + "\" is not between 256Ki and 1Gi");
        }
        return (int) Long.highestOneBit(bytes << shift);
    }

    static int level(String name) {
        return switch (name) {
            case "trace" -> EventLog.TRACE;
            case "debug" -> EventLog.DEBUG;
            case "info" -> EventLog.INFO;
            case "warning" -> EventLog.WARNING;
            case "error" -> EventLog.ERROR;
            default -> throw new IllegalArgumentException("not a level: \"" + name + "\"");
        };
    }
}
