package dev.ullage.log;

import static org.junit.jupiter.api.Assertions.*;

import dev.ullage.log.RingReader.Event;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests only the ring's writer, with a reader that acts like the sidecar. */
class RingTest {
    static final int SMALL = 64 << 10;

    @TempDir
    Path directory;

    private EventLog log;
    private RingReader reader;

    static Settings settings(Path directory) {
        return new Settings(directory, SMALL, EventLog.WARNING, EventLog.INFO, Settings.Patience.NONE);
    }

    @BeforeEach
    void open() throws Exception {
        Settings settings = settings(directory);
        log = EventLog.of(settings, RingFile.create(settings, Origin.now()));
        reader = RingReader.in(directory);
    }

    /** Tests each number of bytes left before the end of the ring, with records of several sizes. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 9, 40, 1000, 8000})
    void wrapsAroundAtEveryAlignment(int length) throws Exception {
        String text = "x".repeat(length);
        int size = Layout.size(length);
        long end = SMALL;
        for (int rest = 8; rest <= size + 8; rest += 8) {
            // The ring is now as if all records up to here had been read.
            reader.put(Layout.TAIL_AT, end - rest);
            reader.head(end - rest);
            assertTrue(log.event(rest, text));
            assertTrue(log.event(-rest, text));
            List<Event> events = reader.drain();
            assertEquals(2, events.size());
            assertEquals(rest < size ? end : end - rest, events.get(0).position());
            assertEquals(rest, events.get(0).id());
            assertEquals(-rest, events.get(1).id());
            assertEquals(text, events.get(1).text());
            end += 2 * SMALL;
        }
        assertEquals(0, log.dropped());
    }

    @Test
    void manyRoundsKeepEveryEventInOrder() throws Exception {
        int next = 0;
        int read = 0;
        for (int round = 0; round < 300; round++) {
            for (int i = 0; i < 100; i++) {
                assertTrue(log.event(next, "y".repeat(next * 7 % 301)));
                next++;
            }
            for (Event e : reader.drain()) {
                assertEquals(read, e.id());
                assertEquals(read * 7 % 301, e.payload().length);
                read++;
            }
        }
        assertEquals(next, read);
        assertEquals(0, log.backlog());
    }

    @Test
    void refusesByLevelAndCountsEachRefusal() throws Exception {
        int kept = 0;
        while (log.event(1)) {
            kept++;
        }
        assertEquals(SMALL / 2 / 24, kept);
        for (int i = 0; i < 9; i++) {
            assertFalse(log.log(EventLog.INFO, "a", "b"));
        }
        assertTrue(log.log(EventLog.WARNING, "a", "pool exhausted"));
        while (log.log(EventLog.ERROR, 1, 2, 3)) {
            kept++;
        }
        assertEquals(10, reader.dropped(Layout.BELOW_KEEP, EventLog.INFO));
        assertEquals(1, reader.dropped(Layout.FULL, EventLog.ERROR));
        assertEquals(11, log.dropped());
        assertEquals(10, log.dropped(EventLog.INFO));
        assertEquals(kept + 1, reader.drain().size());
        assertTrue(log.event(2), "there is room again");
    }

    @Test
    void staysBehindAHeadThatIsHalfWritten() throws Exception {
        while (log.event(1)) {}
        reader.put(Layout.HEAD_AT, SMALL / 2); // without its complement
        assertFalse(log.event(2));
        reader.put(Layout.HEAD_COMPLEMENT_AT, ~(SMALL / 2L));
        assertTrue(log.event(3));
    }

    @Test
    void goesOnBehindAClaimThatIsNeverCompleted() throws Exception {
        log.event(1);
        long tail = reader.at(Layout.TAIL_AT);
        reader.put(Layout.TAIL_AT, tail + Layout.size(100)); // a thread that stopped after its claim
        reader.put(Layout.DATA_AT + (int) tail, Layout.claimed(100));
        assertTrue(log.event(2));
        assertEquals(1, reader.drain().size());
        assertEquals(0, reader.drain().size(), "the reader waits at the claim");
        reader.head(tail + Layout.size(100)); // the sidecar does this when the JVM has ended
        assertEquals(2, reader.drain().get(0).id());
    }

    /** The sidecar abandons a ring with a claim that is never completed. */
    @Test
    void opensAnotherRingForOneThatIsAbandoned() throws Exception {
        int template = log.template("request {} took {} us");
        while (log.event(1)) {}
        reader.abandon();
        long dropped = reader.dropped();
        long deadline = System.nanoTime() + 10_000_000_000L;
        while (!log.info(template, 4711, 42)) {
            dropped++;
            assertTrue(System.nanoTime() < deadline, "no other ring");
            Thread.onSpinWait();
        }
        List<Path> files = RingReader.files(directory);
        assertEquals(2, files.size());
        Path other = files.stream().filter(f -> !isAbandoned(f)).findFirst().orElseThrow();
        try (RingReader second = new RingReader(other)) {
            assertEquals(dropped, reader.dropped() + second.dropped());
            assertEquals("request {} took {} us", template(second, 1));
            Event e = second.drain().get(0);
            assertEquals(template, e.id());
            assertEquals(4711, e.argument(0));
        }
    }

    private static boolean isAbandoned(Path file) {
        try (RingReader r = new RingReader(file)) {
            return r.read(Layout.ABANDONED_AT, 4).getInt(0) != 0;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** Another process writes into the file. */
    @Test
    void givesUpARingWithAWildTail() throws Exception {
        reader.put(Layout.TAIL_AT, 12345); // no record begins there
        assertFalse(log.event(1));
        assertFalse(log.isActive());
        assertTrue(log.problem().contains("damaged"));
        assertFalse(log.log(EventLog.ERROR, "a", "b"));
        assertEquals(1, log.dropped(EventLog.ERROR));
    }

    private EventLog waiting(String wait) throws Exception {
        Path place = Files.createDirectory(directory.resolve("waiting"));
        return EventLog.open(place + ",size=256Ki,wait=" + wait);
    }

    /** Events at a level and above may wait for room. Then none is lost, however slowly the ring is read. */
    @Test
    void waitsForRoomAndLosesNothing() throws Exception {
        EventLog log = waiting("warning:60000ms");
        String text = "y".repeat(5000);
        Thread.currentThread().interrupt(); // an interrupt neither ends a wait nor is lost
        Thread thread = Thread.currentThread();
        var read = new java.util.concurrent.atomic.AtomicInteger();
        Thread reading = new Thread(() -> {
            try (RingReader reader = RingReader.in(directory.resolve("waiting"))) {
                while (read.get() < 500) {
                    if (log.backlog() > 200_000 || !thread.isAlive() || read.get() > 400) {
                        read.addAndGet(reader.drain().size());
                    }
                    Thread.onSpinWait();
                }
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
        reading.start();
        for (int i = 0; i < 500; i++) {
            assertTrue(log.timed(EventLog.WARNING, i, text, 0), "event " + i);
            if (i == 100) {
                assertTrue(Thread.interrupted());
            }
        }
        reading.join();
        assertEquals(0, log.dropped());
    }

    /** One wait shows that no sidecar reads; once the ring is read, calls wait again. */
    @Test
    void doesNotWaitAgainForASidecarThatIsGone() throws Exception {
        EventLog log = waiting("error:200ms");
        while (log.timed(EventLog.WARNING, 1, null, 0)) {}
        long start = System.nanoTime();
        for (int i = 0; i < 1000; i++) {
            assertFalse(log.line("t", "l").message("m").send(EventLog.ERROR));
        }
        long took = System.nanoTime() - start;
        assertTrue(took >= 200_000_000 && took < 150_000_000_000L, took + " ns for one wait; 1000 waits would take 200 s");
        assertEquals(1000, log.dropped(EventLog.ERROR));
        try (RingReader reader = RingReader.in(directory.resolve("waiting"))) {
            reader.drain();
            assertTrue(log.event(1));
        }
    }

    /** If only the lines of front ends wait, no direct call waits, however much it has to copy. */
    @Test
    void directCallsDoNotWaitAsLinesDo() throws Exception {
        Settings.Patience lines = new Settings.Patience(EventLog.ERROR + 1, EventLog.ERROR, Duration.ofHours(1).toNanos());
        Path place = Files.createDirectory(directory.resolve("direct"));
        Settings settings = new Settings(place, SMALL, EventLog.WARNING, EventLog.INFO, lines);
        EventLog log = EventLog.of(settings, RingFile.create(settings, Origin.now()));
        while (log.timed(EventLog.WARNING, 1, null, 0)) {}
        assertTimeoutPreemptively(Duration.ofMinutes(1), () -> {
            assertFalse(log.log(EventLog.ERROR, "l", "text"));
            assertFalse(log.log(EventLog.ERROR, "l", "{needs a dash}"));
            assertFalse(log.log(EventLog.ERROR, "l", "x".repeat(20_000)));
            assertFalse(log.log(EventLog.ERROR, "l", "text", new Exception()));
            assertFalse(log.timed(EventLog.ERROR, 1, "x".repeat(20_000), 0));
        });
        assertEquals(5, log.dropped(EventLog.ERROR));
    }

    /** Records claimed before are read, but later claims fail. */
    @Test
    void aRingThatWasReturnedTakesNothing() throws Exception {
        Path place = Files.createDirectory(directory.resolve("closed"));
        Ring ring = RingFile.create(settings(place), Origin.now());
        assertTrue(ring.event(EventLog.INFO, 1, "before", 0));
        long tail = ring.backlog();
        ring.close();
        for (int level = EventLog.TRACE; level <= EventLog.ERROR; level++) {
            assertFalse(ring.event(level, 1, "behind", 0));
            assertEquals(1, ring.dropped(level));
        }
        assertEquals(tail, ring.backlog());
        try (RingReader closed = RingReader.in(place)) {
            assertEquals(tail | Layout.CLOSED, closed.at(Layout.TAIL_AT));
        }
    }

    /** A web application may stop before its first ring exists: no ring may then appear that is never returned. */
    @Test
    void noRetryCreatesARingOnceAllFrontEndsHaveLeft() throws Exception {
        Path place = directory.resolve("later");
        EventLog log = EventLog.open(place + ",size=256Ki", 0);
        assertFalse(log.isActive());
        awaitRetries();
        log.leave();
        Files.createDirectory(place);
        assertFalse(log.event(1)); // as by a thread of the application that has not ended yet
        awaitRetries();
        assertFalse(log.isActive());
        assertEquals(List.of(), RingReader.files(place));
        assertEquals(1, log.dropped());
    }

    private static void awaitRetries() throws InterruptedException {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals("ullage-ring")) {
                thread.join();
            }
        }
    }

    @Test
    void templatesAreWrittenOnceAndBounded() throws Exception {
        assertEquals(1, log.template("first {}"));
        assertEquals(2, log.template("zweite für {}"));
        assertEquals("first {}", template(reader, 1));
        assertEquals("zweite für {}", template(reader, 2));
        assertEquals(0, log.template("x".repeat(Layout.MAX_TEMPLATE + 1)));
        assertEquals(0, log.template(""));
        assertEquals(0, log.template(null));
        int last = 2;
        for (int n; (n = log.template("z".repeat(1000))) > 0; last = n) {
            assertEquals(last + 1, n);
        }
        assertEquals(2 + (Layout.DATA_AT - Layout.TEMPLATES_AT) / 1002, last);
        assertTrue(log.info(0, 1, 2), "the arguments alone");
    }

    static String template(RingReader reader, int ordinal) throws Exception {
        int at = Layout.TEMPLATES_AT;
        for (int i = 1; ; i++) {
            int n = reader.read(at, 2).getShort(0);
            if (i == ordinal) {
                byte[] text = new byte[n];
                reader.read(at + 2, n).get(text);
                return new String(text, "UTF-8");
            }
            at += 2 + n;
        }
    }

    /** Returns a log without a reader. Its ring overwrites itself, so it never gets full. */
    static EventLog endless(Path directory) throws Exception {
        Settings settings = Settings.parse(directory + ",size=1Mi");
        RingFile.create(settings, Origin.now());
        try (FileChannel file = FileChannel.open(RingReader.files(directory).get(0), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            long size = Layout.DATA_AT + (1 << 20);
            return EventLog.of(settings, new Ring(file.map(FileChannel.MapMode.READ_WRITE, 0, size), settings, Long.MAX_VALUE));
        }
    }
}
