package dev.ullage.log.logback;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import dev.ullage.log.EventLog;
import org.slf4j.Marker;

/**
 * Accepts events of the levels to which the sidecar raised a logger, unless the logger's own level is OFF. It changes
 * no logger, so nothing has to be restored.
 */
final class RaisedLevels extends TurboFilter {
    private final EventLog log;

    RaisedLevels(EventLog log) {
        this.log = log;
    }

    @Override
    public FilterReply decide(Marker marker, Logger logger, Level level, String format, Object[] params, Throwable thrown) {
        // A logger is off for a reason, such as a password in its messages.
        boolean wanted = log.isRaised(UllageAppender.level(level), logger.getName()) && logger.getEffectiveLevel() != Level.OFF;
        return wanted ? FilterReply.ACCEPT : FilterReply.NEUTRAL;
    }
}
