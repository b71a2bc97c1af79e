package dev.ullage.log.jul;

import dev.ullage.log.EventLog;
import java.util.logging.ErrorManager;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;

/**
 * Writes records of java.util.logging into ullage's ring as {@code [thread] logger message}, with
 * a stack trace as further lines. The ring is that of {@link EventLog#get()}.
 *
 * <p>It is configured by {@code handlers = dev.ullage.log.jul.UllageHandler}. {@code publish} takes no lock. It
 * makes a system call only to wait for room in a full ring, as the setting {@code wait} says. A record without parameters and throwable costs no allocation
 * beyond the library's own. Any number of threads, virtual ones included, logs at the same time.
 *
 * <p>A level that the sidecar raises has no effect here, since the library has no place to ask for
 * it before a record is made.
 */
public class UllageHandler extends Handler {
    private final EventLog log = EventLog.get();
    private final Formatter parameters = new SimpleFormatter();

    /** Used by the configuration of java.util.logging. */
    public UllageHandler() {
        if (!log.isActive()) {
            reportError("events are discarded: " + log.problem(), null, ErrorManager.OPEN_FAILURE);
        }
    }

    /** Writes a record. If the ring is too full for its level, it is counted there. */
    @Override
    public void publish(LogRecord logged) {
        if (log.isActive() && isLoggable(logged)) {
            log.line(Thread.currentThread().getName(), logged.getLoggerName())
                    .message(parameters.formatMessage(logged))
                    .thrown(logged.getThrown())
                    .send(level(logged.getLevel()));
        }
    }

    /** Does nothing: a published record is in shared memory already. */
    @Override
    public void flush() {}

    /** Does nothing: the whole JVM shares the ring. */
    @Override
    public void close() {}

    static int level(Level level) {
        int n = level.intValue();
        if (n >= Level.SEVERE.intValue()) {
            return EventLog.ERROR;
        }
        if (n >= Level.WARNING.intValue()) {
            return EventLog.WARNING;
        }
        if (n >= Level.CONFIG.intValue()) {
            return EventLog.INFO;
        }
        return n >= Level.FINE.intValue() ? EventLog.DEBUG : EventLog.TRACE;
    }
}
