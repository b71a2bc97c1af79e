package dev.ullage.log.system;

import dev.ullage.log.EventLog;
import java.text.MessageFormat;
import java.util.MissingResourceException;
import java.util.ResourceBundle;

/**
 * A logger whose levels are those of the ring: the set one, and what the sidecar raises at run
 * time. It waits only as the setting {@code wait} says. A message without parameters and throwable costs no allocation.
 */
final class UllageLogger implements System.Logger {
    private final EventLog log;
    private final String name;

    UllageLogger(EventLog log, String name) {
        this.log = log;
        this.name = name;
    }

    @Override
    public String getName() {
        return name;
    }

    @Override
    public boolean isLoggable(Level level) {
        return level != Level.OFF && log.isEnabled(level(level));
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
        if (isLoggable(level)) {
            log.log(level(level), name, localized(bundle, message), thrown);
        }
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
        if (isLoggable(level)) {
            log.log(level(level), name, formatted(localized(bundle, format), parameters));
        }
    }

    private static String localized(ResourceBundle bundle, String key) {
        if (bundle == null || key == null) {
            return key;
        }
        try {
            return bundle.getString(key);
        } catch (MissingResourceException | ClassCastException e) {
            return key;
        }
    }

    /** A format that is none, or a parameter that cannot be shown, leaves the text as it is. */
    private static String formatted(String format, Object[] parameters) {
        if (format == null || parameters == null || parameters.length == 0) {
            return format;
        }
        try {
            return MessageFormat.format(format, parameters);
        } catch (RuntimeException e) {
            return format;
        }
    }

    private static int level(Level level) {
        return switch (level) {
            case ALL, TRACE -> EventLog.TRACE;
            case DEBUG -> EventLog.DEBUG;
            case INFO -> EventLog.INFO;
            case WARNING -> EventLog.WARNING;
            case ERROR, OFF -> EventLog.ERROR;
        };
    }
}
