import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Two threads work and allocate: arguments are MiB that live, MiB to allocate, and rounds of arithmetic for each KiB.
 * A fiftieth of the allocated memory replaces something that lives, and the last thousand KiB of each thread live too, so
 * that a collection of the young generation has the same to copy in a heap of any size. In the end the program prints, for the time after a
 * tenth of the work, the CPU time of its threads, the CPU time of the collector's threads, and for how long its threads
 * waited for a processor, all in nanoseconds. No wall time is involved.
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
        long collector = collector();
        long[] own = run(total, rounds);
        System.out.printf("%d %d %d%n", own[0], collector() - collector, own[1]);
    }

    /**
     * Returns the CPU time of the threads that collect: HotSpot's VM thread, which collects alone with Serial and
     * prepares each pause with the others, and the threads of each collector. The kernel keeps 15 characters of a name.
     */
    static long collector() throws IOException {
        long sum = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Paths.get("/proc/self/task"))) {
            for (Path thread : threads) {
                try {
                    String name = Files.readAllLines(thread.resolve("comm")).get(0);
                    if (name.matches("VM Thread|GC Thread#.*|G1 .*|Z[A-Z].*|Shenandoah.*")) sum += scheduled(thread)[0];
                } catch (IOException ended) {
                    // A thread that compiled has ended meanwhile. Threads that collect stay.
                }
            }
        }
        return sum;
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
                byte[][] recent = new byte[1000][];
                for (int i = 0; i < mib * 512; i++) {
                    byte[] made = new byte[1000];
                    for (int j = 0; j < rounds; j++) { x ^= x << 13; x ^= x >>> 7; x ^= x << 17; }
                    recent[i % recent.length] = made;
                    if (i % 50 == 0) live[random.nextInt(live.length)] = made;
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

    /** Returns for how long a thread ran, and for how long it was ready to run and did not (proc_pid_schedstat(5)). */
    static long[] scheduled(Path thread) throws IOException {
        String[] times = Files.readAllLines(thread.resolve("schedstat")).get(0).split(" ");
        return new long[] {Long.parseLong(times[0]), Long.parseLong(times[1])};
    }

    /** Returns for how long the current thread was ready to run and did not. */
    static long waited() {
        try {
            return scheduled(Paths.get("/proc/thread-self"))[1];
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
