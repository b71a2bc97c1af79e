import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Two threads work and allocate: arguments are MiB that live, MiB to allocate, and rounds of arithmetic for each KiB.
 * A tenth of the allocated memory replaces something that lives. In the end the program prints which share of the CPU
 * time of the process, after a tenth of the work, its threads did not use themselves: that is the collector's share.
 * No wall time is involved. A second number is the time for which its threads waited for a processor, as a share of
 * the CPU time that they used.
 */
class Sizes {
    static byte[][] live;
    static volatile long blackhole;

    public static void main(String[] args) throws Exception {
        int mib = Integer.parseInt(args[0]), total = Integer.parseInt(args[1]), rounds = Integer.parseInt(args[2]);
        live = new byte[mib * 1024][];
        for (int i = 0; i < live.length; i++) live[i] = new byte[1000];
        run(total / 10, rounds);
        System.gc();
        long process = process();
        long[] own = run(total, rounds);
        process = process() - process;
        System.out.printf("%.4f %.4f%n", 1 - (double) own[0] / process, (double) own[1] / own[0]);
    }

    static long process() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    /** Allocates so many MiB in two threads and returns their CPU time, and for how long they waited for a processor. */
    static long[] run(int mib, int rounds) throws Exception {
        ThreadMXBean beans = ManagementFactory.getThreadMXBean();
        long[] cpu = new long[2], waited = new long[2];
        Thread[] threads = new Thread[2];
        for (int t = 0; t < threads.length; t++) {
            int n = t;
            threads[t] = new Thread(() -> {
                ThreadLocalRandom random = ThreadLocalRandom.current();
                long x = random.nextLong() | 1;
                for (int i = 0; i < mib * 512; i++) {
                    byte[] made = new byte[1000];
                    for (int j = 0; j < rounds; j++) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; }
                    if (i % 10 == 0) live[random.nextInt(live.length)] = made;
                    made[0] = (byte) x;
                }
                blackhole = x;
                cpu[n] = beans.getCurrentThreadCpuTime();
                waited[n] = waited();
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        return new long[] {cpu[0] + cpu[1], waited[0] + waited[1]};
    }

    /** Returns for how many nanoseconds this thread was ready to run and did not (proc_pid_schedstat(5)). */
    static long waited() {
        try {
            return Long.parseLong(Files.readAllLines(Paths.get("/proc/thread-self/schedstat")).get(0).split(" ")[1]);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
