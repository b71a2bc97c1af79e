import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;

/**
 * Allocates a fixed amount of memory, part of which stays in use for a while, collects explicitly, stops the flight
 * recorder, and prints the counts of the JVM's own beans: the time at which it asked them, in milliseconds, and a
 * line for each bean, with its name, the number of collections and their milliseconds. Argument: megabytes.
 */
public final class Tally {
    private static final int PIECE = 16 << 10;
    private static final int KEPT = 1000; // pieces, 16 MB

    static volatile byte[] garbage; // seen by all, so that no compiler leaves the allocation out
    static volatile byte[] large;

    public static void main(String[] args) throws InterruptedException {
        List<GarbageCollectorMXBean> beans = ManagementFactory.getGarbageCollectorMXBeans();
        long[][] counted = new long[beans.size()][2];
        byte[][] kept = new byte[KEPT][];
        long pieces = (Long.parseLong(args[0]) << 20) / PIECE;
        for (long i = 0; i < pieces; i++) {
            garbage = new byte[PIECE];
            kept[(int) (i * 7 % KEPT)] = i % 8 == 0 ? garbage : null;
            if (i % 1000 == 0) {
                large = new byte[2 << 20]; // humongous with G1
            }
        }
        large = null;
        System.gc();
        System.gc();
        for (Recording recording : FlightRecorder.getFlightRecorder().getRecordings()) {
            recording.stop(); // which writes its file, and allocates
        }
        Thread.sleep(500); // most of what is concurrent ends
        System.out.println("asked\t" + System.currentTimeMillis() + "\t0");
        for (int i = 0; i < counted.length; i++) {
            counted[i][0] = beans.get(i).getCollectionCount();
            counted[i][1] = beans.get(i).getCollectionTime();
        }
        for (int i = 0; i < counted.length; i++) {
            System.out.println(beans.get(i).getName() + "\t" + counted[i][0] + "\t" + counted[i][1]);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0); // hooks would allocate, and collect
    }
}
