import dev.ullage.log.EventLog;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;
import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import jdk.jfr.StackTrace;

/** Measures what an event costs the thread that logs it: KIND OUTPUT. Prints key=value pairs. */
public class Fly {
    static final int BURST = 1000, BURSTS = 600, WARMUP = 300;
    static final String TEXT = "after the connect";
    static long sum; // so that no compiler leaves a call out

    interface Call {
        void log(int n);
    }

    @Name("evidence.Fly")
    @StackTrace(false)
    static class Recorded extends Event {
        int n;
        String text;
    }

    public static void main(String[] args) throws Exception {
        EventLog ring = EventLog.get();
        Call call;
        switch (args[0]) {
            case "nanoTime" -> call = n -> sum += System.nanoTime();
            case "ring" -> call = n -> ring.event(n);
            case "ring, text" -> call = n -> ring.event(n, TEXT);
            case "jfr", "jfr, text" -> {
                Recording recording = new Recording();
                recording.setDestination(Path.of(args[1]));
                recording.start();
                String text = args[0].equals("jfr") ? null : TEXT;
                call = n -> {
                    Recorded event = new Recorded();
                    event.n = n;
                    event.text = text;
                    event.commit();
                };
            }
            case "log4j2" -> {
                var log = org.apache.logging.log4j.LogManager.getLogger("evidence");
                call = n -> log.info("{} after the connect", n);
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        if (args[0].startsWith("ring") && !ring.isActive()) {
            throw new IllegalStateException(ring.problem());
        }
        measure(call, ring);
    }

    /** Measures bursts as a whole and event by event, in turn. In between, the reader of the events catches up. */
    static void measure(Call call, EventLog ring) throws InterruptedException {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] each = new long[BURST * (BURSTS - WARMUP) / 2];
        long whole = 0, allocated = 0;
        int events = 0, singles = 0;
        for (int burst = 0; burst < BURSTS; burst++) {
            boolean counts = burst >= WARMUP;
            if (burst % 2 == 0) {
                long before = threads.getCurrentThreadAllocatedBytes(), begun = System.nanoTime();
                for (int n = 0; n < BURST; n++) {
                    call.log(n);
                }
                if (counts) {
                    whole += System.nanoTime() - begun;
                    allocated += threads.getCurrentThreadAllocatedBytes() - before;
                    events += BURST;
                }
            } else {
                for (int n = 0; n < BURST; n++) {
                    long begun = System.nanoTime();
                    call.log(n);
                    long took = System.nanoTime() - begun;
                    if (counts) {
                        each[singles++] = took;
                    }
                }
            }
            do {
                Thread.sleep(1);
            } while (ring.backlog() > 64 << 10);
        }
        Arrays.sort(each, 0, singles);
        System.out.printf("mean=%.1f p50=%d p99=%d p999=%d p9999=%d bytes=%.1f dropped=%d%n", (double) whole / events,
            each[singles / 2], each[(int) (singles * .99)], each[(int) (singles * .999)], each[(int) (singles * .9999)],
            (double) allocated / events, ring.dropped());
    }
}
