package dev.ullage.log;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.file.Files;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Writes the ring file that the sidecar's test reads, so that both sides agree on the layout. All times, processes
 * and threads in it are fixed. {@code -Dupdate=true} rewrites it.
 */
class GoldenTest {
    private static final Path GOLDEN = Path.of(System.getProperty("golden", "internal/ship/ring/testdata/golden.ring"));
    private static final long NANO_TIME = 5_000_000_000L;

    @TempDir
    Path directory;

    private RingReader reader;

    @Test
    void isWrittenAsBefore() throws Exception {
        Settings settings = RingTest.settings(directory);
        Ring ring = RingFile.create(settings, new Origin(4711, NANO_TIME, 1_795_000_000_000_000_000L));
        reader = RingReader.in(directory);
        Thread thread = new Thread(() -> write(ring), "golden");
        thread.start();
        thread.join();
        byte[] got = Files.readAllBytes(RingReader.files(directory).get(0));
        List<String> text = describe(got);
        Path description = GOLDEN.resolveSibling("golden.txt");
        if (Boolean.getBoolean("update")) {
            Files.createDirectories(GOLDEN.getParent());
            Files.write(GOLDEN, got);
            Files.write(description, text);
        }
        assertEquals(Files.readAllLines(description), text);
        assertArrayEquals(Files.readAllBytes(GOLDEN), got);
    }

    /** The ring has almost been filled three times, so these records begin near its end and wrap around. */
    private void write(Ring ring) {
        try {
            long start = 3L * RingTest.SMALL - 200;
            reader.put(Layout.TAIL_AT, start);
            reader.head(start);
            reader.raise(EventLog.TRACE, EventLog.DEBUG, 1, "com.acme=trace,debug,org.hibernate.SQL=info");
            ring.template("request {} took {} us");
            ring.template("Größe {}");
            ring.event(EventLog.INFO, 17, "after connect", time(1));
            ring.event(EventLog.TRACE, -1, null, time(2));
            ring.longs(EventLog.DEBUG, 1, 2, 4711, -42, 0, time(3));
            ring.longs(EventLog.INFO, 2, 1, Long.MIN_VALUE, 0, 0, time(4));
            ring.event(EventLog.WARNING, 0, "héllo 中 😀", time(5));
            byte[] line = "[golden] com.example.Db pool\nexhausted [2026-11-21T10:49:00.123+0000][warning][ullage] gap: 1".getBytes("UTF-8");
            ring.bytes(true, EventLog.ERROR, Layout.LINE, line.length, 0, line, line.length, time(6)); // after a pad
            byte[] trace = "[golden] com.example.Db failedjava.lang.Exception: a\n\tat b.C.d(C.java:1)\n[2026] x".getBytes("UTF-8");
            ring.bytes(false, EventLog.ERROR, Layout.LINE, 30, 0, trace, trace.length, time(7));
            byte[] cut = "x".repeat(Layout.MAX_PAYLOAD).getBytes("UTF-8");
            patient(other -> other.bytes(false, EventLog.INFO, Layout.LINE, cut.length, Layout.CUT, cut, cut.length, time(8)));
            ring.event(EventLog.INFO, 18, "y".repeat(19_400), time(9)); // refused: below keep
            ring.event(EventLog.ERROR, 19, "z".repeat(32_400), time(10)); // refused: full
            ring.event(EventLog.WARNING, 20, "in front of a claim that is never completed", time(11));
            long tail = reader.at(Layout.TAIL_AT);
            reader.put(Layout.TAIL_AT, tail + Layout.size(100));
            reader.put(Layout.DATA_AT + (int) (tail & RingTest.SMALL - 1), Layout.claimed(100));
            ring.event(EventLog.WARNING, 21, "behind it", time(12));
            try (RingReader all = RingReader.in(directory)) { // the JVM chose the numbers of the threads
                thread99(all.peek());
                all.skip(Layout.size(100));
                thread99(all.peek());
            }
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** Writes into the same ring with another keep level: more than half of it may be filled. */
    private void patient(Consumer<Ring> write) throws Exception {
        Settings settings = new Settings(directory, RingTest.SMALL, EventLog.TRACE, EventLog.INFO, Settings.Patience.NONE);
        try (FileChannel file = FileChannel.open(RingReader.files(directory).get(0), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            write.accept(new Ring(file.map(FileChannel.MapMode.READ_WRITE, 0, Layout.DATA_AT + RingTest.SMALL), settings));
        }
    }

    private void thread99(List<RingReader.Event> events) throws Exception {
        for (RingReader.Event e : events) {
            reader.put(Layout.DATA_AT + (int) (e.position() & RingTest.SMALL - 1) + Layout.ID_AT, e.id() & 0xFFFFFFFFL | 99L << 32);
        }
    }

    private static long time(int i) {
        return NANO_TIME + i * 1_000_001L;
    }

    /** One line for each record: position level kind flags id thread nanos length text. */
    private List<String> describe(byte[] file) throws Exception {
        List<String> lines = new ArrayList<>();
        lines.add("# position level kind flags id thread nanos length text, of each record that is complete");
        for (int round = 0; round < 2; round++) {
            for (RingReader.Event e : reader.peek()) {
                String text = e.kind() == Layout.LONGS ? e.argument(0) + (e.payload().length > 8 ? " " + e.argument(1) : "") : e.text();
                text = text.length() > 200 ? text.substring(0, 3) + "..." : text;
                lines.add(String.join(" ", "" + e.position(), "" + e.level(), "" + e.kind(), "" + e.flags(), "" + e.id(),
                        "" + e.thread(), "" + e.nanos(), "" + e.payload().length, text.replace("\n", "\\n").replace("\t", "\\t")));
            }
            if (round == 0) {
                lines.add("# a claim of 100 bytes that was never completed");
                reader.skip(Layout.size(100));
            }
        }
        lines.add("# dropped: info " + reader.dropped(Layout.BELOW_KEEP, EventLog.INFO)
                + " below keep, error " + reader.dropped(Layout.FULL, EventLog.ERROR) + " full, "
                + reader.at(Layout.DROPPED_BYTES_AT) + " bytes");
        return lines;
    }
}
