package dev.ullage.log;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.*;

import dev.ullage.log.RingReader.Event;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests how texts arrive in the ring. */
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

    /** A test must not leave anything in the pool that another event could reuse. */
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
        assertEquals(0, e.flags());
        assertEquals((int) Thread.currentThread().getId(), e.thread());

        assertTrue(log.log(EventLog.ERROR, "com.example.Größe", text));
        e = only();
        assertEquals("[" + Thread.currentThread().getName() + "] com.example.Größe " + text, e.firstLine());
        assertEquals("", e.further());
        assertEquals(0, e.flags());

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

    private static final Pattern NOTE = Pattern.compile("\\.\\.\\. (\\d+) bytes left out \\.\\.\\.");

    /** Returns the texts before and after the note in a cut text. The number in the note must be right. */
    private static String[] ends(Event e, long whole) {
        assertNotEquals(0, e.flags() & Layout.CUT);
        String text = e.text(); // it must be UTF-8
        Matcher note = NOTE.matcher(text);
        assertTrue(note.find(), text);
        boolean further = note.start() > 0 && text.charAt(note.start() - 1) == '\n';
        String[] ends = {text.substring(0, note.start() - 1), text.substring(note.end() + 1)};
        long kept = ends[0].getBytes(UTF_8).length + ends[1].getBytes(UTF_8).length;
        assertEquals(whole, kept + Long.parseLong(note.group(1)), further ? "with further lines" : "in one line");
        assertTrue(kept > Layout.MAX_PAYLOAD - 2000, kept + " bytes are kept");
        return ends;
    }

    /** Cuts each character that can be cut, at each place within it. */
    @Test
    void longTextKeepsItsBeginningAndItsEnd() throws Exception {
        for (String c : new String[] {"a", "é", "中", "😀"}) {
            for (int shift = 0; shift < 4; shift++) {
                for (int count : new int[] {Layout.MAX_PAYLOAD + 1, 100_000}) {
                    String text = "b".repeat(shift) + c.repeat(count) + "e".repeat(shift) + "!";
                    assertTrue(log.event(1, text));
                    String[] ends = ends(only(), text.getBytes(UTF_8).length);
                    assertTrue(ends[0].matches("b{" + shift + "}(" + c + ")+"), () -> ends[0].substring(ends[0].length() - 20));
                    assertTrue(ends[1].matches("(" + c + ")+e{" + shift + "}!"), () -> ends[1].substring(0, 20));
                }
            }
        }
    }

    /** The cause is at the end of the stack trace of a throwable, and readers look for it. */
    @Test
    void aLongThrowableKeepsItsRootCause() throws Exception {
        for (int frames : new int[] {200, 1000, 3000}) {
            for (int message : new int[] {10, 20_000, 50_000}) {
                Exception outer = new IllegalStateException("outer", deep(frames, new Exception("ROOT CAUSE")));
                assertTrue(log.log(EventLog.ERROR, "l", "m".repeat(message), outer));
                Event e = only();
                assertNotEquals(0, e.flags() & Layout.CUT);
                assertTrue(e.firstLine().contains(" l mmm"), e.firstLine());
                assertTrue(NOTE.matcher(e.text()).find());
                String[] lines = e.further().split("\n");
                assertTrue(e.further().contains("Caused by: java.lang.Exception: ROOT CAUSE\n"), () -> e.further());
                assertTrue(lines[lines.length - 1].startsWith("\t"), lines[lines.length - 1]);
                if (message == 10) {
                    assertTrue(e.further().startsWith("java.lang.IllegalStateException: outer\n\tat "));
                    for (String line : lines) {
                        assertTrue(line.matches("\tat .*\\)|Caused by: .*|java.lang.*|\t\\.\\.\\. \\d+ (more|common frames omitted)|" + NOTE), line);
                    }
                }
            }
        }
    }

    private static Exception deep(int frames, Exception cause) {
        Exception e = new Exception("b".repeat(100), cause);
        StackTraceElement[] trace = new StackTraceElement[frames];
        Arrays.fill(trace, new StackTraceElement("com.example." + "Long".repeat(20), "method", "File.java", 4711));
        e.setStackTrace(trace);
        return e;
    }

    /** Tests lengths around the maximum, in all kinds of pieces: the parts that are kept must be unchanged. */
    @Test
    void piecesOfAnyLengthAddUp() throws Exception {
        Random random = new Random(7);
        for (int round = 0; round < 300; round++) {
            StringBuilder want = new StringBuilder("[t] l ");
            Line line = log.line("t", "l").message("");
            int total = Layout.MAX_PAYLOAD - 2000 + random.nextInt(4000);
            if (round % 3 == 0) {
                line.further("");
            }
            while (want.length() < total) {
                String piece = "xé中"
                        .substring(random.nextInt(3)).repeat(1 + random.nextInt(3000)) + "\n".repeat(random.nextInt(2));
                line.append(piece);
                want.append(piece);
            }
            assertTrue(line.send(EventLog.INFO));
            Event e = only();
            byte[] all = want.toString().getBytes(UTF_8);
            if (all.length <= Layout.MAX_PAYLOAD) {
                assertEquals(want.toString(), e.text());
                assertEquals(0, e.flags() & Layout.CUT);
            } else {
                String[] ends = ends(e, all.length);
                assertTrue(want.toString().startsWith(ends[0]) && want.toString().endsWith(ends[1]));
            }
        }
    }

    /** Text in a context must not look like another part of the record, and each part is read back unchanged. */
    @Test
    void theContextParsesBackAndForgesNothing() throws Exception {
        String[] values = {"anna", "", "a,b", "a=b", "x} <ADMIN> forged", "\"", "\\", "\\\"", "two words", "héllo", "{", "null", "a/b:c@d+e-f.g_h", "line\nfeed"};
        for (String value : values) {
            for (String message : new String[] {"hello", "{a=b} x", "<M> x", "- x", "", "\\n"}) {
                Line line = log.line("t", "l").property("k", value).property(value, "v").marker(value);
                line.message(message).send(EventLog.INFO);
                Matcher m = FORM.matcher(only().firstLine());
                assertTrue(m.matches());
                assertEquals(List.of("k", value, value, "v", value, message),
                        List.of(word(m, 1), word(m, 2), word(m, 3), word(m, 4), word(m, 5), m.group(6)));
                log.log(EventLog.INFO, "l", message);
                assertTrue(only().firstLine().endsWith(" l " + (message.matches("[{<-].*") ? "- " : "") + message));
            }
        }
        Object hostile = new Object() {
            @Override
            public String toString() {
                throw new IllegalStateException();
            }
        };
        assertTrue(log.line("t", "l").property("k", hostile).message("m").send(EventLog.INFO));
        assertEquals("[t] l {k=\"(its toString failed: java.lang.IllegalStateException)\"} m", only().text());
    }

    private static final String WORD = "(\"(?:[^\"\\\\]|\\\\.)*\"|[^ ,={}<>\"\\\\]+)";
    private static final Pattern FORM = Pattern.compile("\\[t\\] l \\{" + WORD + "=" + WORD + "," + WORD + "=" + WORD + "\\} <" + WORD
            + "> (?:- )?(.*)", Pattern.DOTALL);

    private static String word(Matcher m, int group) {
        String text = m.group(group);
        return text.startsWith("\"") ? text.substring(1, text.length() - 1).replaceAll("(?s)\\\\(.)", "$1") : text;
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
