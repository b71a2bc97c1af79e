/** Loggers of {@link System#getLogger} that write into ullage's ring. */
module dev.ullage.log.system {
    requires dev.ullage.log;

    exports dev.ullage.log.system;

    provides System.LoggerFinder with dev.ullage.log.system.UllageLoggerFinder;
}
