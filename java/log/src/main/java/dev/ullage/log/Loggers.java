package dev.ullage.log;

import static dev.ullage.log.Layout.*;

import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * The loggers that the sidecar raised, and their levels: {@code com.acme=debug,org.hibernate.SQL=trace}. A rule
 * matches the logger of that name and all loggers below it. The rule with the longest name wins. A level without
 * a name is for all other loggers.
 */
final class Loggers {
    /** The number of loggers with a cached level. It is fixed: an application may create any number of loggers. */
    private static final int SLOTS = 256;
    private static final int NEVER = EventLog.ERROR + 1;

    private record Known(String logger, int level) {}

    /** The word of the ring's header that refers to these rules. */
    final int word;
    private final Map<String, Integer> rules;
    private final Known[] known = new Known[SLOTS]; // records are immutable: any thread may store or read one

    private Loggers(int word, Map<String, Integer> rules) {
        this.word = word;
        this.rules = rules;
    }

    /**
     * Returns the rules that a word refers to, or null if the ring does not contain them whole: the sidecar is changing
     * them at the moment, or another process wrote there.
     */
    static Loggers read(ByteBuffer ring, int word) {
        VarHandle.acquireFence(); // the word was read before
        byte[] bytes = new byte[LOGGERS_TEXT + MAX_LOGGERS];
        ring.get(LOGGERS_AT, bytes);
        ByteBuffer copy = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int length = copy.getInt(8);
        if (copy.getInt(4) != word >>> 16 || length < 0 || length > MAX_LOGGERS) {
            return null;
        }
        CRC32C check = new CRC32C();
        check.update(bytes, 4, LOGGERS_TEXT - 4 + length);
        if ((int) check.getValue() != copy.getInt(0)) {
            return null;
        }
        Map<String, Integer> rules = new HashMap<>();
        try {
            for (String rule : new String(bytes, LOGGERS_TEXT, length, StandardCharsets.US_ASCII).split(",", -1)) {
                int equals = rule.lastIndexOf('=');
                rules.put(rule.substring(0, Math.max(0, equals)), Settings.level(rule.substring(equals + 1)));
            }
        } catch (IllegalArgumentException e) {
            return null;
        }
        return new Loggers(word, rules);
    }

    /** The lowest level to which a logger is raised. It allocates only if the logger is not in the cache. */
    int level(String logger) {
        int hash = logger.hashCode();
        int slot = (hash ^ hash >>> 16) & SLOTS - 1;
        Known last = known[slot];
        if (last == null || !last.logger.equals(logger)) {
            last = known[slot] = new Known(logger, find(logger));
        }
        return last.level;
    }

    private int find(String name) {
        for (;;) {
            Integer level = rules.get(name);
            if (level != null || name.isEmpty()) {
                return level == null ? NEVER : level;
            }
            name = name.substring(0, Math.max(0, name.lastIndexOf('.')));
        }
    }
}
