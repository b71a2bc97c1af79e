import dev.ullage.log.EventLog;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.LockSupport;

/**
 * Logs numbered events from some threads, at a rate or as fast as it can, until it is killed or the time is over. A
 * file has 64 bytes for each thread: the calls that began, the calls that kept the event, and the calls that refused
 * it. The file is mapped, so its counts survive a kill.
 *
 * <p>Storm COUNTS THREADS RATE SECONDS
 */
public final class Storm {
    private static final EventLog LOG = EventLog.get();
    private static final String FILLER = "0123456789abcdefghijklmnopqrstuvwxyz ".repeat(8);

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[1]);
        double rate = Double.parseDouble(args[2]) / threads;
        long end = System.nanoTime() + Long.parseLong(args[3]) * 1_000_000_000L;
        if (!LOG.isActive()) {
            throw new IllegalStateException("there is no ring");
        }
        ByteBuffer counts;
        try (FileChannel file = FileChannel.open(Path.of(args[0]), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            counts = file.map(FileChannel.MapMode.READ_WRITE, 0, threads * 64L).order(ByteOrder.LITTLE_ENDIAN);
        }
        Thread[] all = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            int id = t;
            all[t] = new Thread(() -> log(id, counts, rate, end));
            all[t].start();
        }
        for (Thread t : all) {
            t.join();
        }
    }

    private static void log(int id, ByteBuffer counts, double rate, long end) {
        int at = 64 * id;
        long begin = System.nanoTime();
        long kept = 0;
        long refused = 0;
        for (long n = 1; ; n++) {
            long now = System.nanoTime();
            if (now > end) {
                return;
            }
            long due = rate > 0 ? begin + (long) (n / rate * 1e9) : now;
            if (due > now) {
                LockSupport.parkNanos(due - now);
            }
            String text = n + " " + FILLER.substring(0, (int) (n * 31 % 64));
            counts.putLong(at, n);
            if (LOG.timed(n % 16 == 0 ? EventLog.WARNING : EventLog.INFO, id, text, System.nanoTime())) {
                counts.putLong(at + 8, ++kept);
            } else {
                counts.putLong(at + 16, ++refused);
            }
        }
    }
}
