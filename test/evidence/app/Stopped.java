import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;
import org.HdrHistogram.Histogram;

/**
 * Makes garbage, and measures how long all threads are stopped: WORKLOAD SECONDS. The workload is linkedin (100,000
 * objects of 10 KB are kept, and half of them are removed again and again) or rate (four threads, 400 MB/s, 200 MB
 * are kept). A thread that sleeps for a millisecond measures how late it wakes up: a hiccup. Collections are counted
 * from the start of the JVM, as in its log; durations of collections and hiccups are recorded after a warm-up.
 *
 * <p>At the end it prints, for each tenth of a second, the longest hiccup that overlaps it, in milliseconds, then
 * key=value pairs, and waits to be killed.
 */
public class Stopped {
    static final long MILLISECOND = 1_000_000, TENTH = 100 * MILLISECOND;
    static volatile Object last; // so that no compiler leaves an allocation out
    static volatile long end = Long.MAX_VALUE;

    public static void main(String[] args) throws Exception {
        long nanos = (long) (Double.parseDouble(args[1]) * 1e9);
        Histogram pauses = new Histogram(3_600_000, 3), hiccups = new Histogram(3_600_000_000_000L, 3);
        var collectors = new ArrayList<GarbageCollectorMXBean>();
        for (var collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (collector.getName().contains("Concurrent")) {
                continue; // a concurrent cycle is not a collection
            }
            collectors.add(collector);
            ((NotificationEmitter) collector).addNotificationListener((n, h) -> {
                synchronized (pauses) {
                    pauses.recordValue(GarbageCollectionNotificationInfo.from((CompositeData) n.getUserData()).getGcInfo().getDuration());
                }
            }, null, null);
        }
        int threads = args[0].equals("rate") ? 4 : 1;
        for (int t = 0; t < threads; t++) {
            Thread worker = new Thread(threads == 1 ? Stopped::half : () -> rate(100_000_000, 50_000_000));
            worker.setDaemon(true);
            worker.start();
        }
        Thread.sleep(2000); // until code is compiled
        synchronized (pauses) {
            pauses.reset();
        }
        System.out.println("go");
        long begun = System.nanoTime();
        long[] tenths = new long[(int) (nanos / TENTH) + 600];
        int used = 0;
        for (long before = begun, now; before - begun < nanos; before = now) {
            LockSupport.parkNanos(MILLISECOND);
            now = System.nanoTime();
            long late = Math.max(0, now - before - MILLISECOND);
            hiccups.recordValueWithExpectedInterval(late, MILLISECOND);
            used = (int) Math.min(tenths.length - 1, (now - begun) / TENTH);
            for (int tenth = (int) Math.min(used, (now - late - begun) / TENTH); tenth <= used; tenth++) {
                tenths[tenth] = Math.max(tenths[tenth], late);
            }
        }
        end = System.nanoTime();
        Thread.sleep(500); // the last collection is over, and an asynchronous log is written
        var text = new StringBuilder();
        for (int i = 0; i <= used; i++) {
            text.append(String.format("%.2f ", tenths[i] / 1e6));
        }
        System.out.println(text);
        long collections = 0; // asked for last, since the log has all collections
        for (var collector : collectors) {
            collections += collector.getCollectionCount();
        }
        synchronized (pauses) {
            System.out.printf("hiccups=%d collections=%d pause50=%d pause99=%d pauseMax=%d p50=%.3f p99=%.3f p999=%.3f p9999=%.3f p99999=%.3f longest=%.3f%n",
                hiccups.getTotalCount(), collections, pauses.getValueAtPercentile(50), pauses.getValueAtPercentile(99), pauses.getMaxValue(), ms(hiccups, 50), ms(hiccups, 99),
                ms(hiccups, 99.9), ms(hiccups, 99.99), ms(hiccups, 99.999), hiccups.getMaxValue() / 1e6);
        }
        System.out.flush();
        Thread.sleep(Long.MAX_VALUE);
    }

    static double ms(Histogram h, double percentile) {
        return h.getValueAtPercentile(percentile) / 1e6;
    }

    /** Keeps 100,000 objects, and removes half of them at random. */
    static void half() {
        var kept = new ArrayList<byte[]>();
        var random = new Random(1);
        while (System.nanoTime() < end) {
            while (kept.size() < 100_000 && System.nanoTime() < end) {
                kept.add(new byte[10_000]);
            }
            kept.removeIf(o -> random.nextBoolean());
        }
    }

    /** Allocates the given bytes per second, and keeps the last arrays, with kept bytes in all. */
    static void rate(long bytes, int kept) {
        final int size = 2000;
        byte[][] live = new byte[kept / size][];
        long begun = System.nanoTime();
        for (long n = 0; System.nanoTime() < end; n++) {
            last = live[(int) (n % live.length)] = new byte[size];
            long due = begun + (long) (n * (double) size / bytes * 1e9);
            if (n % 100 == 0 && due > System.nanoTime()) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
        }
    }
}
