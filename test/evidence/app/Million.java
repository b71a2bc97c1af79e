import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import dev.ullage.log.EventLog;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.slf4j.LoggerFactory;

/**
 * Logs at a rate, or as fast as it can if the rate is 0, and measures each call: APPENDER FILE THREADS SECONDS RATE. An
 * appender is event, which is the ring without a library in front of it, or one of Apps, with 1 % errors and 4 %
 * warnings. Before the measurement, the threads log at a tenth of the rate for some seconds.
 */
public class Million {
    static final long WARMUP = 3_000_000_000L;

    interface Call {
        void log(long n);
    }

    /** Calls by duration: 64 buckets for each power of two nanoseconds, so that a percentile is exact to 2 %. */
    static final AtomicLongArray CALLS = new AtomicLongArray(64 * 64);

    public static void main(String[] args) throws Exception {
        Call call = call(args[0], args[1]);
        int threads = Integer.parseInt(args[2]);
        long nanos = Long.parseLong(args[3]) * 1_000_000_000L, rate = Long.parseLong(args[4]) / threads;
        AtomicLong written = new AtomicLong(), measured = new AtomicLong(), severe = new AtomicLong();
        CountDownLatch done = new CountDownLatch(threads);
        System.out.println("go");
        for (int t = 0; t < threads; t++) {
            new Thread(() -> {
                long warm = work(call, WARMUP, rate / 10, new long[CALLS.length()]);
                long[] calls = new long[CALLS.length()];
                long n = work(call, nanos, rate, calls);
                for (int i = 0; i < calls.length; i++) {
                    CALLS.addAndGet(i, calls[i]);
                }
                measured.addAndGet(n);
                written.addAndGet(n + warm);
                severe.addAndGet(severe(n) + severe(warm));
                done.countDown();
            }).start();
        }
        done.await();
        long n = measured.get();
        System.out.printf("ops=%.0f written=%d severe=%d p50=%.3f p999=%.3f p9999=%.3f longest=%.3f%n", n / (nanos / 1e9), written.get(), args[0].equals("event") ? 0 : severe.get(),
            percentile(n, .5) / 1e3, percentile(n, .999) / 1e3, percentile(n, .9999) / 1e3, percentile(n, 1) / 1e6);
        System.out.flush();
        ((LoggerContext) LoggerFactory.getILoggerFactory()).stop();
    }

    static Call call(String spec, String file) {
        if (spec.equals("event")) {
            EventLog ring = EventLog.get();
            if (!ring.isActive()) {
                throw new IllegalStateException(ring.problem());
            }
            return n -> ring.event((int) n, "SEQ of a request");
        }
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        context.reset();
        Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        root.addAppender(Apps.appender(context, spec, file));
        return n -> {
            int kind = (int) (n % 100);
            if (kind == 0) {
                root.error("SEQ E of a request");
            } else if (kind < 5) {
                root.warn("SEQ W of a request");
            } else {
                root.info("SEQ of a request");
            }
        };
    }

    /** How many of a thread's first n events are errors or warnings. */
    static long severe(long n) {
        return n / 100 * 5 + Math.min(n % 100, 5);
    }

    static long work(Call call, long nanos, long rate, long[] calls) {
        long n = 0, begun = System.nanoTime();
        for (long now = begun; now - begun < nanos; now = System.nanoTime()) {
            if (rate > 0 && n >= (now - begun) * (double) rate / 1e9) {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    return n;
                }
                continue;
            }
            long before = System.nanoTime();
            call.log(n++);
            calls[bucket(System.nanoTime() - before)]++;
        }
        return n;
    }

    static int bucket(long nanos) {
        int exponent = 63 - Long.numberOfLeadingZeros(nanos | 1);
        return 64 * exponent + (int) ((exponent < 6 ? nanos << (6 - exponent) : nanos >> (exponent - 6)) & 63);
    }

    /** Returns the upper end of the bucket that contains the percentile of a share of n calls, in nanoseconds. */
    static double percentile(long n, double share) {
        long rest = (long) Math.ceil(n * share);
        for (int i = 0; i < CALLS.length(); i++) {
            if ((rest -= CALLS.get(i)) <= 0) {
                return Math.pow(2, i / 64) * (1 + (i % 64 + 1) / 64.0);
            }
        }
        throw new IllegalStateException("too few calls");
    }
}
