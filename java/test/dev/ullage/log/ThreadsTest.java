package dev.ullage.log;

import static org.junit.jupiter.api.Assertions.*;

import dev.ullage.log.RingReader.Event;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many threads and one reader at the same time. */
class ThreadsTest {
    private static final int PER_THREAD = 20_000;

    @TempDir
    Path directory;

    /** Every event is read once and in the order of its thread, or it is counted as dropped. */
    @ParameterizedTest
    @ValueSource(ints = {8, 64})
    void offeredIsReadAndDropped(int threads) throws Exception {
        run(Thread::new, threads);
    }

    @Test
    void virtualThreadsAreThreads() throws Exception {
        ThreadFactory virtual;
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            virtual = (ThreadFactory) Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
        } catch (ReflectiveOperationException e) {
            Assumptions.abort("this JVM has no virtual threads");
            return;
        }
        run(virtual, 500);
    }

    private void run(ThreadFactory factory, int threads) throws Exception {
        EventLog log = EventLog.open(directory + ",size=256Ki");
        AtomicLong kept = new AtomicLong();
        int each = Math.min(PER_THREAD, 400_000 / threads);
        List<Thread> all = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            int me = t;
            all.add(factory.newThread(() -> kept.addAndGet(write(log, me, each))));
        }
        int[] last = new int[threads];
        long read = 0;
        try (RingReader reader = RingReader.in(directory)) {
            all.forEach(Thread::start);
            while (all.stream().anyMatch(Thread::isAlive)) {
                read += check(reader.drain(), last);
            }
            read += check(reader.drain(), last);
            assertEquals(kept.get(), read);
            assertEquals((long) threads * each, read + reader.dropped());
            assertEquals(reader.dropped(), log.dropped());
            assertEquals(0, log.backlog());
        }
    }

    /** Logs in each of several ways, with the number of the thread and an increasing number. */
    private static long write(EventLog log, int me, int each) {
        long kept = 0;
        for (int i = 1; i <= each; i++) {
            boolean ok = switch (i % 4) {
                case 0 -> log.timed(EventLog.INFO, me, "text " + i, i);
                case 1 -> log.log(EventLog.ERROR, me, i, i);
                case 2 -> log.line("t" + me, "l").message("x".repeat(i % 50)).send(EventLog.WARNING, i);
                default -> log.timed(EventLog.INFO, me, null, i);
            };
            kept += ok ? 1 : 0;
        }
        return kept;
    }

    private static long check(List<Event> events, int[] last) {
        for (Event e : events) {
            int me = e.id();
            int i = (int) e.nanos();
            switch (e.kind()) {
                case Layout.LINE -> {
                    String text = e.text();
                    me = Integer.parseInt(text.substring(2, text.indexOf(']')));
                    assertEquals("[t" + me + "] l " + "x".repeat(i % 50), text);
                }
                case Layout.LONGS -> {
                    i = (int) e.argument(0);
                    assertEquals(i, e.argument(1));
                }
                default -> assertEquals(i % 4 == 0 ? "text " + i : "", e.text());
            }
            assertTrue(i > last[me], "event " + i + " of thread " + me + " after " + last[me]);
            last[me] = i;
        }
        return events.size();
    }

    /** Makes so many calls that even one allocation in a thousand would show. */
    @Test
    void nothingIsAllocated() throws Exception {
        EventLog log = RingTest.endless(directory);
        int template = log.template("{} {}");
        StringBuilder message = new StringBuilder("formatted by a library");
        Runnable everything = () -> {
            log.event(17);
            log.event(17, "eighteen chars msg");
            log.event(17, "achtzehn Zeichen 中");
            log.info(template, 1, 2);
            log.timed(EventLog.WARNING, 17, "text", 1);
            log.log(EventLog.INFO, "com.example.Service", "message");
            log.line("main", "com.example.Service").message(message).send(EventLog.INFO);
            log.log(EventLog.DEBUG, "not", "enabled");
        };
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 10 && least > 0; round++) { // the first rounds are not compiled yet
            long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
            for (int i = 0; i < 20_000; i++) {
                everything.run();
            }
            least = Math.min(least, threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before);
        }
        assertTrue(least < 20_000, least + " bytes for 160,000 calls");
    }

    /** Each recursion claims a record near the end of the stack, and none may stay open. */
    @Test
    void aStackOverflowLeavesNoClaim() throws Exception {
        EventLog log = EventLog.open(directory + ",size=256Ki");
        try (RingReader reader = RingReader.in(directory)) {
            for (int i = 0; i < 20; i++) {
                Thread thread = new Thread(null, () -> assertThrows(StackOverflowError.class, () -> recurse(log)), "deep", 256 << 10);
                thread.start();
                thread.join();
                reader.drain();
            }
            assertTrue(log.event(4711), () -> "backlog " + log.backlog() + ", problem " + log.problem());
            List<Event> events = reader.drain();
            assertEquals(4711, events.get(events.size() - 1).id());
        }
    }

    private static int recurse(EventLog log) {
        log.event(1, "eighteen chars msg");
        return recurse(log) + 1;
    }
}
