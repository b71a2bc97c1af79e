package dev.ullage.log;

import static org.junit.jupiter.api.Assertions.*;

import dev.ullage.log.RingReader.Event;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What becomes of texts on their way into the ring. */
class TextTest {
    @TempDir
    Path directory;

    private EventLog log;
    private RingReader reader;

    @BeforeEach
    void open() throws Exception {
        log = EventLog.open(directory + ",size=1Mi");
        reader = RingReader.in(directory);
    }

    /** Nothing of a test may stay in the pool that another event could get. */
    @AfterEach
    void isAsUsableAsBefore() throws Exception {
        assertTrue(log.log(EventLog.INFO, "l", "after"));
        assertEquals("[" + Thread.currentThread().getName() + "] l after", reader.drain().get(0).firstLine());
    }

    private Event only() throws Exception {
        var events = reader.drain();
        assertEquals(1, events.size());
        return events.get(0);
    }

    static Stream<String> texts() {
        return Stream.of("", "a", "eighteen chars msg", "ä", "achtzehn Zeichen 中", "😀", "a😀", "x".repeat(8191) + "é",
                "x".repeat(8193), "é".repeat(8193), "\u0000\u007f\n\r\t\u001b[31m", "中".repeat(8192));
    }

    @ParameterizedTest
    @MethodSource("texts")
    void textComesAsItWas(String text) throws Exception {
        assertTrue(log.event(17, text));
        Event e = only();
        assertEquals(17, e.id());
        assertEquals(text, e.text());
        boolean ascii = text.chars().allMatch(c -> c < 0x80);
        assertEquals(ascii ? 0 : Layout.UTF8, e.flags());
        assertEquals((int) Thread.currentThread().getId(), e.thread());

        assertTrue(log.log(EventLog.ERROR, "com.example.Größe", text));
        e = only();
        assertEquals("[" + Thread.currentThread().getName() + "] com.example.Größe " + text, e.firstLine());
        assertEquals("", e.further());
        assertEquals(Layout.UTF8, e.flags());

        assertTrue(log.line("t", "l").message(new StringBuilder(text)).send(EventLog.DEBUG));
        e = only();
        assertEquals("[t] l " + text, e.firstLine());
        assertEquals(EventLog.DEBUG, e.level());
    }

    @Test
    void aLoneSurrogateIsReplaced() throws Exception {
        for (String lone : new String[] {"\ud83d", "\ude00", "a\ud83db", "\ude00\ud83d"}) {
            String want = lone.replace('\ud83d', '\ufffd').replace('\ude00', '\ufffd');
            log.event(1, lone);
            assertEquals(want, only().text());
            log.line("t", "l").message(lone).send(EventLog.INFO);
            assertEquals("[t] l " + want, only().text());
        }
    }

    /** Each character that can be cut in the middle, at each place where it can be. */
    @Test
    void longTextIsCutBetweenTwoCharacters() throws Exception {
        for (String c : new String[] {"a", "é", "中", "😀"}) {
            for (int shift = 0; shift < 4; shift++) {
                assertTrue(log.event(1, "b".repeat(shift) + c.repeat(Layout.MAX_PAYLOAD + 1)));
                Event e = only();
                int size = c.getBytes("UTF-8").length;
                assertEquals(shift + (Layout.MAX_PAYLOAD - shift) / size * size, e.payload().length);
                assertNotEquals(0, e.flags() & Layout.CUT);
                assertTrue(e.text().endsWith(c));
            }
        }
        assertTrue(log.log(EventLog.INFO, "a".repeat(40_000), "b", new Exception()));
        assertEquals(Layout.MAX_PAYLOAD, only().payload().length);
    }

    @Test
    void exactlyTheLargestTextIsNotCut() throws Exception {
        assertTrue(log.event(1, "a".repeat(Layout.MAX_PAYLOAD)));
        Event e = only();
        assertEquals(Layout.MAX_PAYLOAD, e.payload().length);
        assertEquals(0, e.flags());
    }

    @Test
    void nothingIsAsGoodAsText() throws Exception {
        assertTrue(log.event(-3, null));
        assertEquals(0, only().payload().length);
        assertTrue(log.log(EventLog.INFO, null, null));
        assertTrue(only().text().endsWith("] - null"));
        assertTrue(log.line(null, null).message(null).thrown(null).send(EventLog.INFO));
        assertEquals("[null] - null", only().text());
    }

    @Test
    void aThrowableIsFurtherLines() throws Exception {
        Exception cause = new IllegalStateException("inner");
        cause.addSuppressed(new RuntimeException("beside"));
        assertTrue(log.log(EventLog.ERROR, "l", "two\nlines", new Exception("outer", cause)));
        Event e = only();
        assertTrue(e.firstLine().endsWith(" l two\nlines"));
        String trace = e.further();
        assertTrue(trace.startsWith("java.lang.Exception: outer\n\tat dev.ullage.log.TextTest.aThrowable"), trace);
        assertTrue(trace.contains("\nCaused by: java.lang.IllegalStateException: inner\n"), trace);
        assertTrue(trace.contains("Suppressed: java.lang.RuntimeException: beside"), trace);
        assertFalse(trace.endsWith("\n"));
    }

    @Test
    void aThrowableThatFailsToPrintItselfIsCut() throws Exception {
        Exception hostile = new Exception("a") {
            private static final long serialVersionUID = 1;

            @Override
            public void printStackTrace(PrintWriter to) {
                to.print("begun");
                throw new IllegalStateException();
            }
        };
        assertTrue(log.log(EventLog.ERROR, "l", "m", hostile));
        Event e = only();
        assertEquals("begun", e.further());
        assertNotEquals(0, e.flags() & Layout.CUT);
        Exception circular = new Exception("one");
        circular.initCause(new Exception("two", circular));
        assertTrue(log.log(EventLog.ERROR, "l", "m", circular));
        assertTrue(only().further().contains("CIRCULAR REFERENCE"));
    }

    @Test
    void aLineIsSentOnce() throws Exception {
        Line line = log.line("t", "l");
        assertTrue(line.send(EventLog.INFO));
        assertFalse(line.message("more").send(EventLog.INFO));
        assertEquals("[t] l", only().text());
    }

    @Test
    void argumentsComeAsTheyWere() throws Exception {
        log.info(1, -1);
        log.info(1, Long.MIN_VALUE, Long.MAX_VALUE);
        log.info(2, 1, 2, 3);
        log.log(EventLog.WARNING, 9, 4, 5);
        var events = reader.drain();
        assertEquals(-1, events.get(0).argument(0));
        assertEquals(Long.MAX_VALUE, events.get(1).argument(1));
        assertEquals(3, events.get(2).argument(2));
        assertEquals(24, events.get(2).payload().length);
        assertEquals(EventLog.WARNING, events.get(3).level());
        assertEquals(9, events.get(3).id());
    }
}
