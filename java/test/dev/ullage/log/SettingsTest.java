package dev.ullage.log;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the setting, the names and the number of rings, and the calls that work without a ring. */
class SettingsTest {
    @TempDir
    Path directory;

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "/a | 4194304 | 4 | 3",
        "/a,size=3Mi | 2097152 | 4 | 3",
        "/a,size=262144 | 262144 | 4 | 3",
        "/a,size=1Gi,keep=error,level=trace | 1073741824 | 5 | 1",
        "/a , size=512Ki | 524288 | 4 | 3",
    })
    void isParsed(String setting, int capacity, int keep, int base) {
        assertEquals(new Settings(Path.of("/a"), capacity, keep, base, Settings.Patience.DEFAULT), Settings.parse(setting));
    }

    @ParameterizedTest
    @ValueSource(strings = {",", ",size=2Mi", "/a,size=", "/a,size=-1", "/a,size=2Gi", "/a,size=128Ki", "/a,size=9999999999Gi",
        "/a,size=2mi", "/a,keep=warn", "/a,level=", "/a,color", "/a,recorder", "/a,wait=", "/a,wait=error", "/a,wait=error:", "/a,wait=error:20", "/a,wait=warn:20ms", "/a,wait=error:-1ms",
        "/a,wait=error:100000ms", "/a,wait=:5ms", "/a,size", "/\0"})
    void whatIsNoSettingIsNoRing(String setting) {
        assertThrows(IllegalArgumentException.class, () -> Settings.parse(setting));
        EventLog log = EventLog.open(setting);
        assertFalse(log.isActive());
        assertNotNull(log.problem());
    }

    @Test
    void waitsAreParsed() {
        assertEquals(new Settings.Patience(EventLog.WARNING, EventLog.WARNING, 2_000_000_000), Settings.parse("/a,wait=warning:2000ms").patience());
        assertEquals(Settings.Patience.NONE, Settings.parse("/a,wait=off").patience());
        Settings.Patience byDefault = Settings.parse("/a").patience();
        assertTrue(byDefault.level() > EventLog.ERROR, "a direct call never waits unless it is asked to");
        assertEquals(EventLog.ERROR, byDefault.lineLevel());
        assertEquals(20_000_000, byDefault.nanos());
    }

    @Test
    void withoutARingEverythingIsANoOp() {
        for (EventLog log : List.of(EventLog.open(null), EventLog.open(" "), EventLog.open("/nowhere/at/all"))) {
            assertFalse(log.isActive());
            assertNotNull(log.problem());
            assertFalse(log.event(1));
            assertFalse(log.event(1, "a"));
            assertFalse(log.info(log.template("t {}"), 1));
            assertFalse(log.log(EventLog.ERROR, "a", "b"));
            assertFalse(log.log(EventLog.ERROR, "a", "b", new Exception()));
            assertFalse(log.line("t", "l").send(EventLog.ERROR));
            assertFalse(log.isEnabled(EventLog.ERROR));
            assertFalse(log.isRaised(EventLog.ERROR, "a"));
            assertEquals(log.problem().contains("nowhere") ? 6 : 0, log.dropped(), "the events that found no ring");
            assertEquals(0, log.backlog());
        }
    }

    /** When the directory appears later, no restart is needed, and the log shows how many events it lacks. */
    @Test
    void aRingThatCouldNotBeMadeIsTriedAgain() throws Exception {
        Path later = directory.resolve("later");
        EventLog log = EventLog.open(later + ",size=256Ki", 1_000_000);
        int template = log.template("request {}");
        assertEquals(1, template);
        long missed = 0;
        for (int i = 0; i < 100; i++) {
            assertFalse(log.log(EventLog.WARNING, "l", "missed"));
            missed++;
        }
        assertFalse(log.log(EventLog.DEBUG, "l", "not enabled"));
        Files.createDirectory(later);
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (!log.info(template, 17)) {
            assertTrue(System.nanoTime() < deadline, log.problem());
            Thread.onSpinWait();
        }
        assertNull(log.problem());
        try (RingReader reader = RingReader.in(later)) {
            assertEquals(17, reader.drain().get(0).argument(0));
            assertEquals("request {}", RingTest.template(reader, 1));
            while (reader.dropped(Layout.FULL, EventLog.WARNING) != missed || reader.dropped() != log.dropped()) {
                assertTrue(System.nanoTime() < deadline, reader.dropped() + " are counted, and " + log.dropped());
                Thread.onSpinWait();
            }
            assertEquals(0, reader.dropped(Layout.FULL, EventLog.DEBUG));
        }
    }

    /** The first event may come from an interrupted thread, such as one that is about to end. */
    @Test
    void anInterruptedThreadCanMakeTheRing() throws Exception {
        Thread.currentThread().interrupt();
        EventLog log = EventLog.open(directory.toString());
        assertTrue(Thread.interrupted(), "the interrupt is not lost");
        assertTrue(log.isActive(), log.problem());
    }

    @Test
    void roomForARingIsUsedWhenItComes() throws Exception {
        for (int i = 0; i < RingFile.MAX_RINGS; i++) {
            RingFile.create(RingTest.settings(directory), new Origin(1, 2, 3_000_000));
        }
        EventLog log = EventLog.open(directory + ",size=256Ki", 1_000_000);
        assertFalse(log.isActive());
        assertTrue(log.problem().contains("8 rings already"), log.problem());
        Files.delete(directory.resolve("events-1-3.ring")); // like a sidecar
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (!log.isActive()) {
            assertTrue(System.nanoTime() < deadline, log.problem());
            Thread.onSpinWait();
        }
    }

    @Test
    void levelsAreRaisedAndRestored() throws Exception {
        EventLog log = EventLog.open(directory + ",size=256Ki");
        try (RingReader reader = RingReader.in(directory)) {
            assertTrue(log.isEnabled(EventLog.INFO));
            assertFalse(log.isEnabled(EventLog.DEBUG));
            assertFalse(log.log(EventLog.DEBUG, "a", "b"));
            assertFalse(log.timed(EventLog.DEBUG, 1, "b", 1));
            assertFalse(log.log(EventLog.DEBUG, 1, 2, 3));
            assertEquals(0, log.dropped(), "what is not enabled is not dropped");
            reader.raise(EventLog.DEBUG);
            assertTrue(log.isEnabled(EventLog.DEBUG));
            assertTrue(log.isRaised(EventLog.DEBUG, "a") && log.isRaised(EventLog.DEBUG, null));
            assertFalse(log.isEnabled(EventLog.TRACE));
            assertTrue(log.log(EventLog.DEBUG, "a", "b"));
            reader.raise(EventLog.ERROR);
            assertTrue(log.isEnabled(EventLog.INFO), "levels are never lowered");
            for (int wild : new int[] {0, -1, 6, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                reader.raised(wild);
                assertFalse(log.isRaised(EventLog.ERROR, "a"));
                assertFalse(log.isEnabled(EventLog.DEBUG));
            }
            assertEquals(1, reader.drain().size());
        }
    }

    @Test
    void loggersAreRaisedByTheLongestName() throws Exception {
        EventLog log = EventLog.open(directory + ",size=256Ki");
        try (RingReader reader = RingReader.in(directory)) {
            reader.raise(EventLog.TRACE, EventLog.DEBUG, 1, "com.acme=trace,com.acme.noisy=error,debug");
            for (String logger : List.of("com.acme", "com.acme.Db", "com.acme.noisily.Db")) {
                assertTrue(log.isRaised(EventLog.TRACE, logger), logger);
            }
            for (String logger : List.of("com", "com.acmes", "com.acme.noisy.Db", "org.h", "")) {
                assertFalse(log.isRaised(EventLog.TRACE, logger), logger);
            }
            assertFalse(log.isRaised(EventLog.DEBUG, "com.acme.noisy.Db"));
            assertTrue(log.isRaised(EventLog.DEBUG, "org.h") && log.isRaised(EventLog.DEBUG, null));
            assertTrue(log.log(EventLog.TRACE, "com.acme.Db", "b"));
            assertTrue(log.log(EventLog.TRACE, "com.acme.Db", "b", new Exception()));
            assertFalse(log.log(EventLog.TRACE, "org.h", "b"));
            assertFalse(log.isEnabled(EventLog.TRACE));
            reader.raise(EventLog.DEBUG, 0, 2, "org.h=debug");
            assertTrue(log.isRaised(EventLog.DEBUG, "org.h"));
            assertFalse(log.isRaised(EventLog.ERROR, "com.acme") || log.isRaised(EventLog.ERROR, null));
            for (int i = 0; i < 5000; i++) { // more than the cache holds
                assertEquals(i % 2 == 0, log.isRaised(EventLog.DEBUG, (i % 2 == 0 ? "org.h.L" : "org.L") + i));
            }
        }
    }

    /** Incomplete or foreign rules raise no logger. They are gone once the sidecar has written its own. */
    @Test
    void rulesThatAreNotWholeRaiseNothing() throws Exception {
        EventLog log = EventLog.open(directory + ",size=256Ki");
        try (RingReader reader = RingReader.in(directory)) {
            int generation = 0;
            for (String text : List.of("", "a", "a=", "a=loud", "a=off", "=", ",", "a=trace,,b=trace", "a=trace,b", "x".repeat(600) + "=trace")) {
                reader.raise(EventLog.TRACE, 0, ++generation, text);
                assertFalse(log.isRaised(EventLog.ERROR, "a"), text);
            }
            reader.raise(EventLog.TRACE, 0, 33, "a=trace");
            reader.raised(EventLog.TRACE | 34 << 16); // these rules are not written yet
            assertFalse(log.isRaised(EventLog.ERROR, "a"));
            reader.raised(EventLog.TRACE | 33 << 16);
            for (int at : new int[] {Layout.LOGGERS_AT, Layout.LOGGERS_AT + 8, Layout.LOGGERS_AT + 16}) {
                long was = reader.at(at);
                for (long wild : new long[] {0, -1, was ^ 1 << 16, Long.MIN_VALUE}) {
                    reader.put(at, wild);
                    assertFalse(log.isRaised(EventLog.ERROR, "a"), at + " " + wild);
                }
                reader.put(at, was);
            }
            assertTrue(log.isRaised(EventLog.TRACE, "a"));
        }
    }

    @Test
    void aLevelOutOfRangeIsTheNearest() throws Exception {
        EventLog log = EventLog.open(directory + ",level=trace");
        try (RingReader reader = RingReader.in(directory)) {
            assertTrue(log.log(Integer.MIN_VALUE, "a", "b"));
            assertTrue(log.timed(Integer.MAX_VALUE, 1, null, 5));
            var events = reader.drain();
            assertEquals(EventLog.TRACE, events.get(0).level());
            assertEquals(EventLog.ERROR, events.get(1).level());
            assertEquals(5, events.get(1).nanos());
        }
    }

    @Test
    void ringsAreBoundedAndHaveNamesOfTheirOwn() throws Exception {
        for (int i = 0; i < RingFile.MAX_RINGS; i++) {
            Settings settings = RingTest.settings(directory);
            RingFile.create(settings, new Origin(1, 2, 3_000_000)); // like containers, each with its own process 1
        }
        assertTrue(Files.exists(directory.resolve("events-1-3.ring")));
        assertTrue(Files.exists(directory.resolve("events-1-3-8.ring")));
        assertFalse(EventLog.open(directory.toString()).isActive());
        try (var all = Files.list(directory)) {
            assertEquals(RingFile.MAX_RINGS, all.count(), "nothing unfinished is left");
        }
    }
}
