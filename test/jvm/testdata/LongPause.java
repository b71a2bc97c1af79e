import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.SplittableRandom;

/**
 * Makes garbage at a steady rate. After a time, it creates more and more small objects until one collection has taken
 * as long as wanted, and then goes on without these objects. Arguments: milliseconds until then, milliseconds of the
 * pause, megabytes a second.
 */
public final class LongPause {
    private static final int PIECE = 16 << 10;
    private static final int FIRST = 500_000; // objects, 8 MB

    private static final class Node {
        Node next;
    }

    static volatile byte[] garbage; // seen by all, so that no compiler leaves the allocation out
    static Node list; // likewise

    public static void main(String[] args) throws InterruptedException {
        long least = Long.parseLong(args[1]);
        long rate = Long.parseLong(args[2]) << 20;
        allocate(Long.parseLong(args[0]), rate);
        for (int nodes = FIRST; collect(nodes) < least; nodes += nodes / 2) {
            list = null;
        }
        list = null;
        allocate(Long.MAX_VALUE / 1_000_000, rate);
    }

    private static void allocate(long millis, long rate) throws InterruptedException {
        long begun = System.nanoTime();
        for (long i = 0; System.nanoTime() - begun < millis * 1_000_000; i++) {
            garbage = new byte[PIECE];
            double ahead = (double) i * PIECE / rate - (System.nanoTime() - begun) / 1e9;
            if (ahead > 0.002) {
                Thread.sleep((long) (ahead * 1000));
            }
        }
    }

    /** Makes a list whose nodes lie in no order, and returns for how long it was collected. */
    private static long collect(int nodes) {
        Node[] all = new Node[nodes];
        SplittableRandom random = new SplittableRandom(nodes);
        for (int i = 0; i < nodes; i++) {
            int at = random.nextInt(i + 1);
            all[i] = all[at];
            all[at] = new Node();
        }
        for (int i = 1; i < nodes; i++) {
            all[i - 1].next = all[i];
        }
        list = all[0];
        all = null;
        long before = collected();
        System.gc();
        return collected() - before;
    }

    private static long collected() {
        long millis = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            millis += bean.getCollectionTime();
        }
        return millis;
    }
}
