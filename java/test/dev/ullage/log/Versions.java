package dev.ullage.log;

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Logs with any version of a library on the class path. Then it prints the records in the ring. It uses only
 * functions that the oldest versions have; versions.sh runs it.
 */
final class Versions {
    private Versions() {}

    public static void main(String[] a) throws Exception {
        boolean log4j = a[0].equals("log4j");
        int rounds = Integer.parseInt(a[1]);
        Path directory = Path.of(System.getProperty("ullage.events", "none").split(",")[0]);
        for (int round = 1; round <= rounds; round++) {
            Runnable stop = log4j ? Log4j.run() : Logback.run();
            if (Files.isDirectory(directory)) {
                for (Path file : RingReader.files(directory)) {
                    try (RingReader reader = new RingReader(file)) {
                        reader.peek().forEach(e -> System.out.println("ring: " + e.level() + " " + e.firstLine() + " | " + e.further().split("\n")[0]));
                    }
                }
            }
            stop.run();
            System.out.println("round " + round + " is over");
        }
        if (Files.isDirectory(directory)) {
            int closed = 0;
            for (Path file : RingReader.files(directory)) {
                try (RingReader reader = new RingReader(file)) {
                    closed += (reader.at(Layout.TAIL_AT) & Layout.CLOSED) != 0 ? 1 : 0;
                }
            }
            System.out.println("rings returned: " + closed);
        }
    }

    /** This is a class of its own, because only one of the two libraries is on the class path. */
    private static final class Logback {
        static Runnable run() throws Exception {
            var context = (ch.qos.logback.classic.LoggerContext) org.slf4j.LoggerFactory.getILoggerFactory();
            context.reset();
            var configurator = new ch.qos.logback.classic.joran.JoranConfigurator();
            configurator.setContext(context);
            configurator.doConfigure(System.getProperty("configuration"));
            var logger = org.slf4j.LoggerFactory.getLogger("com.example.Db");
            org.slf4j.MDC.put("user", "anna");
            logger.warn(org.slf4j.MarkerFactory.getMarker("AUDIT"), "pool of {} exhausted", 8);
            org.slf4j.MDC.clear();
            logger.error("failed", new IllegalStateException("outer"));
            return context::reset;
        }
    }

    private static final class Log4j {
        static Runnable run() {
            var context = org.apache.logging.log4j.core.config.Configurator.initialize(null, System.getProperty("configuration"));
            var logger = context.getLogger("com.example.Db");
            org.apache.logging.log4j.ThreadContext.put("user", "anna");
            logger.warn(org.apache.logging.log4j.MarkerManager.getMarker("AUDIT"), "pool of {} exhausted", 8);
            org.apache.logging.log4j.ThreadContext.clearAll();
            logger.error("failed", new IllegalStateException("outer"));
            return context::stop;
        }
    }
}
