import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.reflect.Method;

/**
 * Allocates, so that the JVM collects and logs, and records how long its safepoints were: by the JVM's own counters,
 * which do not depend on its log. A thread looks at them every millisecond. Each line of the file is the time in ms
 * since 1970, how many safepoints began since the last line, how many ms those that ended took together, and for how
 * many ms the thread itself was away.
 *
 * Arguments: milliseconds, megabytes to allocate a second, the file.
 */
public final class Headline {
    private static final int PIECE = 16 << 10;
    private static final int KEPT = 1500; // pieces, 24 MB

    static volatile byte[] garbage; // seen by all, so that no compiler leaves the allocation out

    public static void main(String[] args) throws Exception {
        long begun = System.nanoTime();
        long end = begun + Long.parseLong(args[0]) * 1_000_000;
        long rate = Long.parseLong(args[1]) << 20;
        Thread watch = new Thread(() -> watch(args[2]));
        watch.setDaemon(true);
        watch.start();
        byte[][] kept = new byte[KEPT][];
        for (long i = 0; System.nanoTime() < end; i++) {
            kept[(int) (i * 7 % KEPT)] = i % 8 == 0 ? garbage : null;
            garbage = new byte[PIECE];
            double ahead = (double) i * PIECE / rate - (System.nanoTime() - begun) / 1e9;
            if (ahead > 0.002) {
                Thread.sleep((long) (ahead * 1000));
            } else if (ahead < -0.1) {
                begun -= (long) (ahead * 1e9); // time that a stall has cost is not made up for
            }
        }
    }

    private static void watch(String path) {
        try (PrintWriter out = new PrintWriter(new FileWriter(path))) {
            // By reflection, since a compiler should not depend on internals.
            Object counters = Class.forName("sun.management.ManagementFactoryHelper").getMethod("getHotspotRuntimeMBean").invoke(null);
            Class<?> type = Class.forName("sun.management.HotspotRuntimeMBean");
            Method safepoints = type.getMethod("getSafepointCount");
            Method total = type.getMethod("getTotalSafepointTime");
            long count = (long) safepoints.invoke(counters);
            long time = (long) total.invoke(counters);
            long last = System.nanoTime();
            while (true) {
                Thread.sleep(1);
                long c = (long) safepoints.invoke(counters);
                long t = (long) total.invoke(counters);
                long now = System.nanoTime();
                if (c != count || t != time || now - last > 10_000_000) {
                    out.printf("%d %d %d %d%n", System.currentTimeMillis(), c - count, t - time, (now - last) / 1_000_000 - 1);
                    out.flush();
                }
                count = c;
                time = t;
                last = now;
            }
        } catch (IOException | InterruptedException | ReflectiveOperationException e) {
            e.printStackTrace();
            System.exit(1);
        }
    }
}
