import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Two threads work and allocate: arguments are MiB that live, MiB to allocate, and rounds of arithmetic for each KiB.
 * A tenth of the allocated memory replaces something that lives. In the end the program prints which share of the CPU
 * time of the process, after a tenth of the work, its threads did not use themselves: that is the collector's share.
 * No wall time is involved.
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
        long process = process(), own = run(total, rounds);
        process = process() - process;
        System.out.printf("%.4f%n", 1 - (double) own / process);
    }

    static long process() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    /** Allocates so many MiB in two threads and returns the CPU time of these. */
    static long run(int mib, int rounds) throws Exception {
        ThreadMXBean beans = ManagementFactory.getThreadMXBean();
        long[] cpu = new long[2];
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
            });
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        return cpu[0] + cpu[1];
    }
}
