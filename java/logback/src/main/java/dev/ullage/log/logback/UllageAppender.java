package dev.ullage.log.logback;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.spi.AppenderAttachable;
import ch.qos.logback.core.spi.AppenderAttachableImpl;
import dev.ullage.log.EventLog;
import dev.ullage.log.Line;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Marker;
import org.slf4j.event.KeyValuePair;

/**
 * Writes Logback's events into ullage's ring as {@code [thread] logger {mdc and key-values} <markers> message}, with
 * a stack trace as further lines; {@link Line} describes the form. The ring is that of {@link EventLog#get()}.
 *
 * <p>While there is no ring, events go to the appenders that the {@code <appender-ref>} elements name or, without
 * any, to the console. Logback's status reports the beginning and the end of this time, and the number of these
 * events.
 *
 * <p>With an {@code <encoder>}, the appender writes the encoder's bytes instead, such as JSON.
 *
 * <p>It needs no encoder and no asynchronous appender in front of it: {@code append} takes no lock. It makes a system
 * call only to wait for room in a full ring, according to the setting {@code wait}. For an event without MDC, markers
 * and throwable, it allocates no more than Logback itself. Any number of threads, including virtual ones, can log at
 * the same time.
 *
 * <p>While the sidecar raises all or some loggers to a level, they log events of this level unless they are off. Other
 * appenders get these events, too, unless they have a ThresholdFilter that excludes them.
 */
public class UllageAppender extends UnsynchronizedAppenderBase<ILoggingEvent> implements AppenderAttachable<ILoggingEvent> {
    private static final int MAX_DEPTH = 4;

    private final AppenderAttachableImpl<ILoggingEvent> fallbacks = new AppenderAttachableImpl<>();
    private final AtomicLong diverted = new AtomicLong(); // events since the ring was lost
    private Encoder<ILoggingEvent> encoder; // null: the form of Line
    private EventLog log; // null: not started
    private RaisedLevels raised;
    private Appender<ILoggingEvent> console; // null: the application has its own fallbacks
    private volatile boolean unusable;

    /** Used by Logback's configuration. */
    public UllageAppender() {}

    /** Starts, with a ring or without one. */
    @Override
    public void start() {
        if (isStarted()) {
            return;
        }
        log = EventLog.join();
        if (!fallbacks.iteratorForAppenders().hasNext()) {
            console = console();
            fallbacks.addAppender(console);
        }
        if (getContext() instanceof LoggerContext loggers) {
            raised = new RaisedLevels(log);
            raised.start();
            loggers.addTurboFilter(raised);
        }
        super.start();
    }

    private Appender<ILoggingEvent> console() {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(getContext());
        encoder.setPattern("%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} [%thread] %-5level %logger - %msg%n");
        encoder.start();
        ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
        console.setContext(getContext());
        console.setName("console, since " + getName() + " names no other appender");
        console.setEncoder(encoder);
        console.start();
        return console;
    }

    /**
     * Sets an encoder whose lines are written instead of lines in the form of {@link Line}.
     *
     * @param encoder the application's encoder; null: none
     */
    public void setEncoder(Encoder<ILoggingEvent> encoder) {
        this.encoder = encoder;
    }

    /** Stops writing events and returns the ring if no other appender uses it. */
    @Override
    public void stop() {
        if (!isStarted()) {
            return;
        }
        super.stop();
        if (getContext() instanceof LoggerContext loggers) {
            loggers.getTurboFilterList().remove(raised);
        }
        if (console != null) {
            fallbacks.detachAppender(console);
            console.stop();
            console = null;
        }
        log.leave();
    }

    /** Writes an event. If the ring is too full for its level, the ring counts it. */
    @Override
    protected void append(ILoggingEvent event) {
        if (unusable || !log.isActive()) {
            divert(event);
            return;
        }
        if (diverted.get() > 0) {
            returned();
        }
        int level = level(event.getLevel());
        if (encoder != null) {
            log.encoded(level, encoder.encode(event));
            return;
        }
        Line line;
        try {
            line = line(event);
        } catch (LinkageError e) { // with an incompatible Logback or SLF4J, a log call must not throw
            unusable = true;
            addError("this version of Logback or SLF4J does not work with ullage: events go to " + names(), e);
            divert(event);
            return;
        }
        line.send(level);
    }

    @SuppressWarnings("deprecation") // getMarker: the one marker of Logback 1.2
    private Line line(ILoggingEvent event) {
        Line line = log.line(event.getThreadName(), event.getLoggerName());
        Map<String, String> context = event.getMDCPropertyMap();
        if (context != null && !context.isEmpty()) {
            context.forEach(line::property);
        }
        if (FLUENT) {
            Fluent.append(line, event);
        } else {
            mark(line, event.getMarker(), 0);
        }
        line.message(event.getFormattedMessage());
        IThrowableProxy thrown = event.getThrowableProxy();
        if (thrown != null) {
            line.further(ThrowableProxyUtil.asString(thrown));
        }
        return line;
    }

    /** Whether events may have several markers and key-values. Events of Logback 1.2 cannot. */
    private static final boolean FLUENT = isFluent();

    private static boolean isFluent() {
        try {
            ILoggingEvent.class.getMethod("getKeyValuePairs");
            ILoggingEvent.class.getMethod("getMarkerList");
            return true;
        } catch (NoSuchMethodException | LinkageError e) {
            return false;
        }
    }

    /** Uses classes and methods that SLF4J 1 lacks: with SLF4J 1, this class is not loaded. */
    private static final class Fluent {
        static void append(Line line, ILoggingEvent event) {
            List<KeyValuePair> pairs = event.getKeyValuePairs();
            if (pairs != null) {
                pairs.forEach(pair -> line.property(pair.key, pair.value));
            }
            List<Marker> markers = event.getMarkerList();
            if (markers != null) {
                markers.forEach(marker -> mark(line, marker, 0));
            }
        }
    }

    /** Appends a marker and the markers in it. Markers may contain each other, so the depth is limited. */
    private static void mark(Line line, Marker marker, int depth) {
        if (marker == null) {
            return;
        }
        line.marker(marker.getName());
        if (depth < MAX_DEPTH) {
            marker.iterator().forEachRemaining(inner -> mark(line, inner, depth + 1));
        }
    }

    private void divert(ILoggingEvent event) {
        if (diverted.getAndIncrement() == 0 && !unusable) {
            addWarn("there is no ring: events go to " + names() + ": " + log.problem());
        }
        fallbacks.appendLoopOnAppenders(event);
    }

    private void returned() {
        long n = diverted.getAndSet(0);
        if (n > 0) {
            addInfo("there is a ring again; " + n + " events went to " + names());
        }
    }

    private String names() {
        StringBuilder names = new StringBuilder();
        for (Iterator<Appender<ILoggingEvent>> all = fallbacks.iteratorForAppenders(); all.hasNext(); ) {
            names.append(names.isEmpty() ? "" : ", ").append(all.next().getName());
        }
        return names.toString();
    }

    /** Used by Logback's configuration for an {@code <appender-ref>}. */
    @Override
    public void addAppender(Appender<ILoggingEvent> appender) {
        fallbacks.addAppender(appender);
    }

    @Override
    public Iterator<Appender<ILoggingEvent>> iteratorForAppenders() {
        return fallbacks.iteratorForAppenders();
    }

    @Override
    public Appender<ILoggingEvent> getAppender(String name) {
        return fallbacks.getAppender(name);
    }

    @Override
    public boolean isAttached(Appender<ILoggingEvent> appender) {
        return fallbacks.isAttached(appender);
    }

    @Override
    public void detachAndStopAllAppenders() {
        fallbacks.detachAndStopAllAppenders();
    }

    @Override
    public boolean detachAppender(Appender<ILoggingEvent> appender) {
        return fallbacks.detachAppender(appender);
    }

    @Override
    public boolean detachAppender(String name) {
        return fallbacks.detachAppender(name);
    }

    static int level(Level level) {
        int n = level.toInt();
        return n >= Level.ERROR_INT ? EventLog.ERROR : n >= Level.WARN_INT ? EventLog.WARNING : n >= Level.INFO_INT ? EventLog.INFO
                : n >= Level.DEBUG_INT ? EventLog.DEBUG : EventLog.TRACE;
    }
}
