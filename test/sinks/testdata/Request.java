import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/**
 * Serves one slow request, during which it collects garbage, and prints when the request began and ended. Then it prints
 * each action of the JVM's notifications about collections, with the cause and how often there was one. It ends once the
 * JVM has sent all of them.
 */
public final class Request {
    private static final int COLLECTIONS = 3;

    private static final Map<String, Integer> notified = new TreeMap<>();

    static byte[] garbage; // seen by all, so that no compiler leaves the allocation out

    public static void main(String[] args) throws Exception {
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            ((NotificationEmitter) bean).addNotificationListener((n, handback) -> {
                CompositeData data = (CompositeData) n.getUserData();
                synchronized (notified) {
                    notified.merge(data.get("gcAction") + "|" + data.get("gcCause"), 1, Integer::sum);
                    notified.notifyAll();
                }
            }, null, null);
        }
        Instant began = Instant.now();
        for (int i = 0; i < COLLECTIONS; i++) {
            for (int n = 0; n < 200; n++) {
                garbage = new byte[1 << 20];
            }
            System.gc();
        }
        Instant ended = Instant.now();
        synchronized (notified) {
            while (notified.values().stream().mapToLong(n -> n).sum() < collections()) {
                notified.wait();
            }
            System.out.println("request|" + nanos(began) + "|" + nanos(ended));
            notified.forEach((what, count) -> System.out.println("notified|" + what + "|" + count));
        }
    }

    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
    }

    private static long nanos(Instant at) {
        return at.getEpochSecond() * 1_000_000_000 + at.getNano();
    }
}
