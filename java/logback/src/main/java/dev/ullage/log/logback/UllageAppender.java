package dev.ullage.log.logback;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import dev.ullage.log.EventLog;
import dev.ullage.log.Line;
import java.util.List;
import java.util.Map;
import org.slf4j.Marker;
import org.slf4j.event.KeyValuePair;

/**
 * Writes Logback's events into ullage's ring as {@code [thread] logger {mdc and key-values} <markers> message}, with
 * a stack trace as further lines; {@link Line} has the form. The ring is that of {@link EventLog#get()}.
 *
 * <p>It needs no encoder and no asynchronous appender in front of it: {@code append} never blocks, takes a
 * lock or makes a system call. An event without MDC, markers and throwable costs no allocation
 * beyond Logback's own. Any number of threads, virtual ones included, logs at the same time.
 *
 * <p>While the sidecar raises a level, all loggers log it. Other appenders get these events, too, unless a
 * ThresholdFilter of their own keeps them out.
 */
public class UllageAppender extends UnsynchronizedAppenderBase<ILoggingEvent> {
    private static final int MAX_DEPTH = 4;

    private final EventLog log = EventLog.get();
    private final RaisedLevels raised = new RaisedLevels(log);

    /** Used by Logback's configuration. */
    public UllageAppender() {}

    /** Starts, without a ring as well: events are discarded then, and Logback's status says so. */
    @Override
    public void start() {
        if (!log.isActive()) {
            addWarn("events are discarded: " + log.problem());
        }
        if (getContext() instanceof LoggerContext loggers) {
            raised.start();
            loggers.addTurboFilter(raised);
        }
        super.start();
    }

    /** Stops to write events. The ring stays, since the whole JVM shares it. */
    @Override
    public void stop() {
        if (getContext() instanceof LoggerContext loggers) {
            loggers.getTurboFilterList().remove(raised);
        }
        super.stop();
    }

    /** Writes an event. If the ring is too full for its level, it is counted there. */
    @Override
    protected void append(ILoggingEvent event) {
        if (!log.isActive()) {
            return;
        }
        Line line = log.line(event.getThreadName(), event.getLoggerName());
        Map<String, String> context = event.getMDCPropertyMap();
        if (context != null && !context.isEmpty()) {
            context.forEach(line::property);
        }
        List<KeyValuePair> pairs = event.getKeyValuePairs();
        if (pairs != null) {
            pairs.forEach(pair -> line.property(pair.key, pair.value));
        }
        List<Marker> markers = event.getMarkerList();
        if (markers != null) {
            markers.forEach(marker -> mark(line, marker, 0));
        }
        line.message(event.getFormattedMessage());
        IThrowableProxy thrown = event.getThrowableProxy();
        if (thrown != null) {
            line.further(ThrowableProxyUtil.asString(thrown));
        }
        line.send(level(event.getLevel()));
    }

    /** Appends a marker, and those that it contains. Markers may contain one another. */
    private static void mark(Line line, Marker marker, int depth) {
        line.marker(marker.getName());
        if (depth < MAX_DEPTH) {
            marker.iterator().forEachRemaining(inner -> mark(line, inner, depth + 1));
        }
    }

    static int level(Level level) {
        int n = level.toInt();
        if (n >= Level.ERROR_INT) {
            return EventLog.ERROR;
        }
        if (n >= Level.WARN_INT) {
            return EventLog.WARNING;
        }
        if (n >= Level.INFO_INT) {
            return EventLog.INFO;
        }
        return n >= Level.DEBUG_INT ? EventLog.DEBUG : EventLog.TRACE;
    }
}
