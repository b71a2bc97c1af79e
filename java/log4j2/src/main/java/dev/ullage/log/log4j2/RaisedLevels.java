package dev.ullage.log.log4j2;

import dev.ullage.log.EventLog;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.Marker;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.filter.AbstractFilter;
import org.apache.logging.log4j.message.Message;

/**
 * Accepts events of the levels to which the sidecar raised a logger, unless the logger's own level is OFF. It changes
 * no logger, so nothing has to be restored. For each form of a call, Log4j calls one of these methods. Without them, it
 * would create an array of parameters.
 */
final class RaisedLevels extends AbstractFilter {
    private final EventLog log;

    RaisedLevels(EventLog log) {
        this.log = log;
    }

    private Result decide(Logger logger, Level level) {
        // A logger is off for a reason, such as a password in its messages.
        boolean wanted = log.isRaised(UllageAppender.level(level), logger.getName()) && logger.getLevel() != Level.OFF;
        return wanted ? Result.ACCEPT : Result.NEUTRAL;
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, Message message, Throwable thrown) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, Object message, Throwable thrown) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object... params) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0, Object p1) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0, Object p1, Object p2) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0,
            Object p1, Object p2, Object p3) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0,
            Object p1, Object p2, Object p3, Object p4) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0, Object p1,
            Object p2, Object p3, Object p4, Object p5) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0, Object p1,
            Object p2, Object p3, Object p4, Object p5, Object p6) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0, Object p1, Object p2,
            Object p3, Object p4, Object p5, Object p6, Object p7) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0, Object p1, Object p2,
            Object p3, Object p4, Object p5, Object p6, Object p7, Object p8) {
        return decide(logger, level);
    }

    @Override
    public Result filter(Logger logger, Level level, Marker marker, String message, Object p0, Object p1, Object p2, Object p3,
            Object p4, Object p5, Object p6, Object p7, Object p8, Object p9) {
        return decide(logger, level);
    }
}
