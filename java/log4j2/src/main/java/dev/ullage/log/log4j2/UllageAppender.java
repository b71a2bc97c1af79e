package dev.ullage.log.log4j2;

import dev.ullage.log.EventLog;
import dev.ullage.log.Line;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.Marker;
import org.apache.logging.log4j.ThreadContext;
import org.apache.logging.log4j.core.Appender;
import org.apache.logging.log4j.core.Core;
import org.apache.logging.log4j.core.Filter;
import org.apache.logging.log4j.core.Layout;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.appender.ConsoleAppender;
import org.apache.logging.log4j.core.config.AppenderControl;
import org.apache.logging.log4j.core.config.AppenderRef;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.config.plugins.Plugin;
import org.apache.logging.log4j.core.config.plugins.PluginAttribute;
import org.apache.logging.log4j.core.config.plugins.PluginConfiguration;
import org.apache.logging.log4j.core.config.plugins.PluginElement;
import org.apache.logging.log4j.core.config.plugins.PluginFactory;
import org.apache.logging.log4j.core.config.plugins.validation.constraints.Required;
import org.apache.logging.log4j.core.layout.PatternLayout;
import org.apache.logging.log4j.message.Message;
import org.apache.logging.log4j.util.ReadOnlyStringMap;
import org.apache.logging.log4j.util.StringBuilderFormattable;
import org.apache.logging.log4j.util.TriConsumer;

/**
 * Writes Log4j's events into ullage's ring as {@code [thread] logger {context} <markers> message}, with a stack trace
 * as further lines; {@link Line} describes the form. The context is the thread's map, its stack as {@code ndc=…}, and
 * {@code level=…} for a level that the application defines. The ring is that of {@link EventLog#get()}.
 *
 * <p>While there is no ring, events go to the appenders that the {@code <AppenderRef>} elements name or, without any,
 * to the console. Log4j's status logger reports the beginning and the end of this time, and the number of these
 * events.
 *
 * <p>With a layout, the appender writes the layout's bytes instead, such as JSON.
 *
 * <p>Use it with synchronous loggers: {@code append} takes no lock. It makes a system call only to wait for room in a
 * full ring, according to the setting {@code wait}, so a queue in front of it would only add a wait. For an event
 * without a throwable, it allocates no more than Log4j itself. Any number of threads, including virtual ones, can log
 * at the same time.
 *
 * <p>While the sidecar raises all or some loggers to a level, they log events of this level unless they are off. Other
 * appenders get these events, too, unless they have a filter that excludes them.
 */
@Plugin(name = "Ullage", category = Core.CATEGORY_NAME, elementType = Appender.ELEMENT_TYPE, printObject = true)
public final class UllageAppender extends AbstractAppender {
    private static final TriConsumer<String, Object, Line> PROPERTY = (key, value, line) -> line.property(key, value);

    private static final int MAX_DEPTH = 4;

    private final Configuration configuration;
    private final AppenderRef[] references;
    private volatile List<AppenderControl> fallbacks = List.of();
    private final AtomicLong diverted = new AtomicLong(); // events since the ring was lost
    private volatile EventLog log; // null: not started
    private RaisedLevels raised;
    private ConsoleAppender console; // null: the application has its own fallbacks
    private volatile boolean unusable;

    private UllageAppender(String name, Filter filter, Layout<?> layout, Configuration configuration, AppenderRef[] references) {
        super(name, filter, layout, true, Property.EMPTY_ARRAY);
        this.configuration = configuration;
        this.references = references == null ? new AppenderRef[0] : references;
    }

    /**
     * Creates the appender of an element {@code <Ullage name="..."/>}.
     *
     * @param name the name by which loggers refer to it
     * @param filter selects the events; may be null: all events
     * @param layout makes the lines; may be null: the form of {@link Line}
     * @param references the appenders that get the events while there is no ring; may be null or empty: the console
     * @param configuration has the other appenders, and gets a filter that accepts raised levels
     * @return a new appender
     */
    @PluginFactory
    public static UllageAppender create(@PluginAttribute("name") @Required String name,
            @PluginElement("Filter") Filter filter, @PluginElement("Layout") Layout<?> layout, @PluginElement("AppenderRef") AppenderRef[] references,
            @PluginConfiguration Configuration configuration) {
        return new UllageAppender(name, filter, layout, configuration, references);
    }

    /** Starts, with a ring or without one. */
    @Override
    public void start() {
        EventLog joined = EventLog.join();
        List<AppenderControl> fallbacks = new ArrayList<>();
        for (AppenderRef reference : references) {
            Appender appender = configuration.getAppender(reference.getRef());
            if (appender == null || appender == this) {
                LOGGER.error("Ullage appender {}: there is no other appender {}", getName(), reference.getRef());
            } else {
                fallbacks.add(new AppenderControl(appender, reference.getLevel(), reference.getFilter()));
            }
        }
        if (fallbacks.isEmpty()) {
            PatternLayout layout = PatternLayout.newBuilder()
                    .withPattern("%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} [%t] %-5level %logger - %msg%n").build();
            console = ConsoleAppender.createDefaultAppenderForLayout(layout);
            console.start();
            fallbacks.add(new AppenderControl(console, null, null));
        }
        this.fallbacks = List.copyOf(fallbacks);
        log = joined;
        raised = new RaisedLevels(joined);
        raised.start();
        configuration.addFilter(raised);
        super.start();
    }

    /** Stops writing events and returns the ring if no other appender uses it. */
    @Override
    public boolean stop(long timeout, TimeUnit unit) {
        if (log == null) {
            return super.stop(timeout, unit);
        }
        configuration.removeFilter(raised);
        boolean stopped = super.stop(timeout, unit);
        if (console != null) {
            console.stop(timeout, unit);
            console = null;
        }
        log.leave();
        log = null;
        fallbacks = List.of();
        return stopped;
    }

    /** Writes an event. If the ring is too full for its level, the ring counts it. */
    @Override
    public void append(LogEvent event) {
        EventLog log = this.log;
        if (log == null) { // stopped a moment ago
            return;
        }
        if (unusable || !log.isActive()) {
            divert(log, event);
            return;
        }
        if (diverted.get() > 0) {
            returned();
        }
        int level = level(event.getLevel());
        if (getLayout() != null) {
            log.encoded(level, getLayout().toByteArray(event));
            return;
        }
        Line line;
        try {
            line = line(log, event);
        } catch (LinkageError e) { // with an incompatible Log4j, a log call must not throw
            unusable = true;
            LOGGER.error("Ullage appender {}: this version of Log4j does not work with ullage: events go to {}", getName(), names(), e);
            divert(log, event);
            return;
        }
        line.send(level);
    }

    private void divert(EventLog log, LogEvent event) {
        if (diverted.getAndIncrement() == 0 && !unusable) {
            LOGGER.warn("Ullage appender {}: there is no ring: events go to {}: {}", getName(), names(), log.problem());
        }
        fallbacks.forEach(control -> control.callAppender(event));
    }

    private void returned() {
        long n = diverted.getAndSet(0);
        if (n > 0) {
            LOGGER.info("Ullage appender {}: there is a ring again; {} events went to {}", getName(), n, names());
        }
    }

    private String names() {
        return fallbacks.stream().map(AppenderControl::getAppenderName).collect(Collectors.joining(", "));
    }

    private static Line line(EventLog log, LogEvent event) {
        Line line = log.line(event.getThreadName(), event.getLoggerName());
        ReadOnlyStringMap context = event.getContextData();
        if (context != null && !context.isEmpty()) {
            context.forEach(PROPERTY, line);
        }
        ThreadContext.ContextStack stack = event.getContextStack();
        if (stack != null && !stack.isEmpty()) {
            stack.asList().forEach(value -> line.property("ndc", value));
        }
        if (!event.getLevel().getStandardLevel().name().equals(event.getLevel().name())) {
            line.property("level", event.getLevel().name()); // a level that the application defines
        }
        mark(line, event.getMarker(), 0);
        Message message = event.getMessage();
        if (message instanceof StringBuilderFormattable formattable) {
            formattable.formatTo(line.scratch());
            line.message(line.scratch());
        } else {
            line.message(message.getFormattedMessage());
        }
        return line.thrown(event.getThrown());
    }

    /** Appends a marker and its parents. Markers may be parents of each other, so the depth is limited. */
    private static void mark(Line line, Marker marker, int depth) {
        if (marker == null) {
            return;
        }
        line.marker(marker.getName());
        if (depth < MAX_DEPTH && marker.hasParents()) {
            for (Marker parent : marker.getParents()) {
                mark(line, parent, depth + 1);
            }
        }
    }

    static int level(Level level) {
        int n = level.intLevel();
        return n <= Level.ERROR.intLevel() ? EventLog.ERROR : n <= Level.WARN.intLevel() ? EventLog.WARNING : n <= Level.INFO.intLevel() ? EventLog.INFO
                : n <= Level.DEBUG.intLevel() ? EventLog.DEBUG : EventLog.TRACE;
    }
}
