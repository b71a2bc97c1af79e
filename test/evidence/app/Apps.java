import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.FileAppender;
import dev.ullage.log.logback.UllageAppender;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;
import org.slf4j.LoggerFactory;

/**
 * Logs with Logback from several threads: APPENDER FILE THREADS SECONDS RATE END. An appender of Logback is file, ring,
 * ring:wait, ring:encoder, ring:encoder:wait, async:QUEUE:discard or async:QUEUE:wait; log4j2:discard and log4j2:wait
 * use Log4j instead. A rate of 0 is as fast as possible.
 *
 * <p>If END is not stop, it names a file that has each thread's counts, so that they outlive a kill -9: the events
 * whose call has returned, the severe ones among them, and the longest call in nanoseconds, as three longs in the
 * machine's byte order.
 */
public class Apps {
    static final String TEXT = " of a request that took 42 ms, and whose line has the usual length of a line";

    public static void main(String[] args) throws Exception {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        context.reset();
        Log log;
        if (args[0].startsWith("log4j2:")) {
            log = log4j(args[0].endsWith(":discard"), args[1]);
        } else {
            Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
            root.addAppender(appender(context, args[0], args[1]));
            log = new Log(root::error, root::warn, root::info, root::debug);
        }
        int threads = Integer.parseInt(args[2]);
        long nanos = (long) (Double.parseDouble(args[3]) * 1e9), rate = Long.parseLong(args[4]);
        AtomicLong written = new AtomicLong(), severe = new AtomicLong(), longest = new AtomicLong();
        LongBuffer counts = args[5].equals("stop") ? LongBuffer.allocate(3 * threads) : counts(args[5], threads);
        CountDownLatch done = new CountDownLatch(threads);
        System.out.println("go");
        long begun = System.nanoTime();
        for (int t = 0; t < threads; t++) {
            int first = 3 * t;
            Thread thread = new Thread(() -> {
                work(log, begun, nanos, rate / threads, counts, first);
                written.addAndGet(counts.get(first));
                severe.addAndGet(counts.get(first + 1));
                longest.accumulateAndGet(counts.get(first + 2), Math::max);
                done.countDown();
            });
            thread.setDaemon(true);
            thread.start();
        }
        done.await();
        double seconds = (System.nanoTime() - begun) / 1e9;
        System.out.printf("ops=%.0f written=%d severe=%d longest=%.3f%n", written.get() / seconds, written.get(), severe.get(), longest.get() / 1e6);
        System.out.flush();
        if (args[0].startsWith("log4j2:")) {
            LogManager.shutdown(); // with another appender, this would open Log4j's files
        } else {
            context.stop();
        }
    }

    /** A method of a logger, for one level. */
    interface Call {
        void log(String text, Object n);
    }

    /** A logger of either library. */
    record Log(Call error, Call warn, Call info, Call debug) {
        /** Logs an event of a kind from 0 to 99: the share of each level is the same for every library. */
        void event(int kind, long n) {
            if (kind == 0) {
                error.log("SEQ E {}" + TEXT, n);
            } else if (kind < 5) {
                warn.log("SEQ W {}" + TEXT, n);
            } else if (kind < 40) {
                info.log("SEQ I {}" + TEXT, n);
            } else {
                debug.log("SEQ D {}" + TEXT, n);
            }
        }
    }

    /** Returns a logger with a file appender after an asynchronous one, whose queue of 1,024 is Log4j's default. */
    static Log log4j(boolean discard, String file) {
        if (discard) {
            System.setProperty("log4j2.asyncQueueFullPolicy", "Discard"); // of info and below
        }
        var built = ConfigurationBuilderFactory.newConfigurationBuilder();
        built.add(built.newAppender("file", "File").addAttribute("fileName", file)
            .add(built.newLayout("PatternLayout").addAttribute("pattern", "%d [%t] %-5level %logger - %msg%n")));
        built.add(built.newAppender("async", "Async").addAttribute("bufferSize", 1024)
            .addComponent(built.newComponent("AppenderRef").addAttribute("ref", "file")));
        built.add(built.newRootLogger(org.apache.logging.log4j.Level.ALL).add(built.newAppenderRef("async")));
        var log = Configurator.initialize(built.build()).getLogger("app");
        return new Log(log::error, log::warn, log::info, log::debug);
    }

    /** Maps the file of the counts. */
    static LongBuffer counts(String path, int threads) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            return file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 24L * threads).order(ByteOrder.nativeOrder()).asLongBuffer();
        }
    }

    static void work(Log log, long begun, long nanos, long rate, LongBuffer counts, int first) {
        long n = 0, bad = 0, slowest = 0;
        for (long now = System.nanoTime(); now - begun < nanos; now = System.nanoTime()) {
            if (rate > 0 && n >= (now - begun) * (double) rate / 1e9) {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    return;
                }
                continue;
            }
            int kind = (int) (n++ % 100);
            log.event(kind, n);
            bad += kind < 5 ? 1 : 0;
            slowest = Math.max(slowest, System.nanoTime() - now);
            counts.put(first, n);
            counts.put(first + 1, bad);
            counts.put(first + 2, slowest);
        }
    }

    static Appender<ILoggingEvent> appender(LoggerContext context, String spec, String file) {
        PatternLayoutEncoder pattern = new PatternLayoutEncoder();
        pattern.setContext(context);
        pattern.setPattern("%d [%thread] %-5level %logger - %msg%n");
        pattern.start();
        if (spec.startsWith("ring")) {
            if (spec.endsWith(":wait")) {
                System.setProperty("ullage.events", System.getenv("ULLAGE_EVENTS") + ",wait=trace:60000ms");
            }
            UllageAppender ring = new UllageAppender();
            ring.setContext(context);
            if (spec.startsWith("ring:encoder")) {
                ring.setEncoder(pattern);
            }
            ring.start();
            return ring;
        }
        FileAppender<ILoggingEvent> direct = new FileAppender<>();
        direct.setContext(context);
        direct.setEncoder(pattern);
        direct.setFile(file);
        direct.start();
        if (spec.equals("file")) {
            return direct;
        }
        String[] parts = spec.split(":");
        AsyncAppender async = new AsyncAppender();
        async.setContext(context);
        async.setQueueSize(Integer.parseInt(parts[1]));
        if (parts[2].equals("wait")) {
            async.setDiscardingThreshold(0);
        }
        async.addAppender(direct);
        async.start();
        return async;
    }
}
