package dev.ullage.log.log4j2;

import dev.ullage.log.EventLog;
import dev.ullage.log.Line;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.Marker;
import org.apache.logging.log4j.ThreadContext;
import org.apache.logging.log4j.core.Appender;
import org.apache.logging.log4j.core.Core;
import org.apache.logging.log4j.core.Filter;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.config.plugins.Plugin;
import org.apache.logging.log4j.core.config.plugins.PluginAttribute;
import org.apache.logging.log4j.core.config.plugins.PluginConfiguration;
import org.apache.logging.log4j.core.config.plugins.PluginElement;
import org.apache.logging.log4j.core.config.plugins.PluginFactory;
import org.apache.logging.log4j.core.config.plugins.validation.constraints.Required;
import org.apache.logging.log4j.message.Message;
import org.apache.logging.log4j.util.ReadOnlyStringMap;
import org.apache.logging.log4j.util.StringBuilderFormattable;
import org.apache.logging.log4j.util.TriConsumer;

/**
 * Writes Log4j's events into ullage's ring as {@code [thread] logger {context} <markers> message}, with a
 * stack trace as further lines; {@link Line} has the form. The context is the thread's map, its stack as {@code ndc=…}, and
 * {@code level=…} for a level of the application's own. The ring is that of {@link EventLog#get()}.
 *
 * <p>Use it with synchronous loggers: {@code append} never blocks, takes a lock or makes a system call, so a queue
 * in front of it would only add a wait. An event without a throwable costs no allocation beyond
 * Log4j's own. Any number of threads, virtual ones included, logs at the same time.
 *
 * <p>While the sidecar raises a level, all loggers log it. Other appenders get these events, too, unless a
 * filter of their own keeps them out.
 */
@Plugin(name = "Ullage", category = Core.CATEGORY_NAME, elementType = Appender.ELEMENT_TYPE, printObject = true)
public final class UllageAppender extends AbstractAppender {
    private static final TriConsumer<String, Object, Line> PROPERTY = (key, value, line) -> line.property(key, value);

    private static final int MAX_DEPTH = 4;

    private final EventLog log = EventLog.get();
    private final Configuration configuration;
    private final RaisedLevels raised = new RaisedLevels(log);

    private UllageAppender(String name, Filter filter, Configuration configuration) {
        super(name, filter, null, true, Property.EMPTY_ARRAY);
        this.configuration = configuration;
    }

    /**
     * Makes the appender of an element {@code <Ullage name="..."/>}.
     *
     * @param name by which loggers refer to it
     * @param filter what it writes; may be null: everything
     * @param configuration gets a filter that lets raised levels through
     * @return a new appender
     */
    @PluginFactory
    public static UllageAppender create(@PluginAttribute("name") @Required String name,
            @PluginElement("Filter") Filter filter, @PluginConfiguration Configuration configuration) {
        return new UllageAppender(name, filter, configuration);
    }

    /** Starts, without a ring as well: events are discarded then, and the status logger says so. */
    @Override
    public void start() {
        if (!log.isActive()) {
            LOGGER.warn("Ullage appender {}: events are discarded: {}", getName(), log.problem());
        }
        raised.start();
        configuration.addFilter(raised);
        super.start();
    }

    /** Stops to write events. The ring stays, since the whole JVM shares it. */
    @Override
    public boolean stop(long timeout, java.util.concurrent.TimeUnit unit) {
        configuration.removeFilter(raised);
        return super.stop(timeout, unit);
    }

    /** Writes an event. If the ring is too full for its level, it is counted there. */
    @Override
    public void append(LogEvent event) {
        if (!log.isActive()) {
            return;
        }
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
            line.property("level", event.getLevel().name()); // one of the application's own
        }
        mark(line, event.getMarker(), 0);
        Message message = event.getMessage();
        if (message instanceof StringBuilderFormattable formattable) {
            formattable.formatTo(line.scratch());
            line.message(line.scratch());
        } else {
            line.message(message.getFormattedMessage());
        }
        line.thrown(event.getThrown()).send(level(event.getLevel()));
    }

    /** Appends a marker, and its parents. Markers may be parents of one another. */
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
        if (n <= Level.ERROR.intLevel()) {
            return EventLog.ERROR;
        }
        if (n <= Level.WARN.intLevel()) {
            return EventLog.WARNING;
        }
        if (n <= Level.INFO.intLevel()) {
            return EventLog.INFO;
        }
        return n <= Level.DEBUG.intLevel() ? EventLog.DEBUG : EventLog.TRACE;
    }
}
