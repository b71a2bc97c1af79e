package dev.ullage.log.system;

import dev.ullage.log.EventLog;

/**
 * Makes each logger of {@link System#getLogger} write into ullage's ring, that of
 * {@link EventLog#get()}. A JVM has one such finder: having this jar on the path decides for it.
 */
public final class UllageLoggerFinder extends System.LoggerFinder {
    /** Used by the JVM, once. */
    public UllageLoggerFinder() {}

    @Override
    public System.Logger getLogger(String name, Module module) {
        return new UllageLogger(EventLog.get(), name);
    }
}
