package dev.ullage.log;

import static org.junit.jupiter.api.Assertions.*;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import dev.ullage.log.RingReader.Event;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.apache.logging.log4j.MarkerManager;
import org.apache.logging.log4j.ThreadContext;
import org.apache.logging.log4j.core.config.ConfigurationSource;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.xml.XmlConfiguration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;
import org.slf4j.MarkerFactory;

/** Tests the front ends with the real libraries. The ring is this JVM's own, which -Dullage.events configures. */
class FrontEndsTest {
    private static RingReader reader;
    private static final String THREAD = "[" + Thread.currentThread().getName() + "] ";

    @BeforeAll
    static void open() throws Exception {
        assertTrue(EventLog.get().isActive(), EventLog.get().problem());
        reader = RingReader.in(Path.of(System.getProperty("ullage.events").split(",")[0]));
    }

    @BeforeEach
    void drain() throws Exception {
        reader.raise(0);
        reader.drain();
    }

    private static Event only() throws Exception {
        List<Event> events = reader.drain();
        assertEquals(1, events.size(), () -> events.stream().map(Event::text).toList().toString());
        return events.get(0);
    }

    private static List<String> texts() throws Exception {
        return reader.drain().stream().map(Event::text).toList();
    }

    private static ByteArrayInputStream stream(String text) {
        return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    }

    private static LoggerContext configured(String inside) throws Exception {
        LoggerContext context = new LoggerContext();
        context.setMDCAdapter(MDC.getMDCAdapter());
        JoranConfigurator configurator = new JoranConfigurator();
        configurator.setContext(context);
        configurator.doConfigure(stream("""
                <configuration>
                  <appender name="ULLAGE" class="dev.ullage.log.logback.UllageAppender">%s</appender>
                  <root level="INFO"><appender-ref ref="ULLAGE"/></root>
                </configuration>""".formatted(inside)));
        return context;
    }

    @Test
    void logback() throws Exception {
        LoggerContext context = configured("");
        var logger = context.getLogger("com.example.Db");
        logger.warn("pool of {} exhausted", 8);
        Event e = only();
        assertEquals(EventLog.WARNING, e.level());
        assertEquals(THREAD + "com.example.Db pool of 8 exhausted", e.firstLine());
        assertEquals("", e.further());

        MDC.put("trace", "12ab");
        logger.error(MarkerFactory.getMarker("AUDIT"), "failed", new Exception("outer", new IllegalStateException("inner")));
        MDC.clear();
        e = only();
        assertEquals(EventLog.ERROR, e.level());
        assertEquals(THREAD + "com.example.Db {trace=12ab} <AUDIT> failed", e.firstLine());
        assertTrue(e.further().startsWith("java.lang.Exception: outer\n\tat "), e.further());
        assertTrue(e.further().contains("\nCaused by: java.lang.IllegalStateException: inner"), e.further());

        var child = MarkerFactory.getDetachedMarker("LOGIN");
        child.add(MarkerFactory.getDetachedMarker("SECURITY, TOO"));
        MDC.put("user", "x} <ADMIN> forged, a=b");
        logger.atInfo().addKeyValue("user", "anna").addKeyValue("n", 17).addMarker(child).log("{not=context}");
        MDC.clear();
        assertEquals(THREAD + "com.example.Db {user=\"x} <ADMIN> forged, a=b\",user=anna,n=17} <LOGIN> <\"SECURITY, TOO\"> - {not=context}",
                only().firstLine());

        logger.debug("not enabled");
        reader.raise(EventLog.DEBUG);
        assertTrue(logger.isDebugEnabled());
        logger.debug("raised");
        logger.trace("not raised");
        reader.raise(0);
        logger.debug("restored");
        assertEquals(THREAD + "com.example.Db raised", only().text());

        reader.raise(EventLog.DEBUG, 0, 1, "com.example.Db=debug");
        assertFalse(context.getLogger("com.example.D").isDebugEnabled());
        context.getLogger("com.example").debug("not raised");
        context.getLogger("com.example.Db.Pool").debug("one is raised");
        logger.debug("raised");
        assertEquals(List.of(THREAD + "com.example.Db.Pool one is raised", THREAD + "com.example.Db raised"), texts());

        context.getLogger("com.example.wire").setLevel(ch.qos.logback.classic.Level.OFF);
        reader.raise(EventLog.TRACE, EventLog.TRACE, 2, "trace,com.example.wire=trace");
        context.getLogger("com.example.wire.Headers").debug("Authorization: Bearer secret");
        context.getLogger("com.example.wire").error("off is off");
        reader.raise(0);
        assertEquals(List.of(), reader.drain());

        context.reset();
        assertTrue(context.getTurboFilterList().isEmpty());
        context.stop();
    }

    /** With a team's own layout, including its masks, the log contains the text of the layout. */
    @Test
    void logbackWithAnEncoder() throws Exception {
        LoggerContext context = configured("""
                <encoder><pattern>%d{yyyy} %-5level [%X{user}] %logger{0} - %replace(%msg){'password=[^ ]+','password=***'}%n%ex{short}</pattern></encoder>""");
        MDC.put("user", "anna");
        context.getLogger("com.example.Db").error("password=secret, twice", new Exception("outer"));
        MDC.clear();
        Event e = only();
        assertEquals(EventLog.ERROR, e.level());
        assertEquals(Layout.OWN, e.kind());
        assertTrue(e.text().matches("20\\d\\d ERROR \\[anna\\] Db - password=\\*\\*\\* twice\njava.lang.Exception: outer\n\tat (?s:.*)"), e.text());

        context.getLogger("com.example.Db").warn("x".repeat(50_000) + " the end");
        e = only();
        assertEquals(Layout.CUT, e.flags() & Layout.CUT);
        assertTrue(e.text().contains(" bytes left out ... ") && e.text().endsWith(" the end\n"), e.text());
        context.stop();
    }

    @Test
    void log4j2WithALayout() throws Exception {
        var configuration = new XmlConfiguration(null, new ConfigurationSource(stream("""
                <Configuration>
                  <Appenders><Ullage name="U"><PatternLayout pattern="%level %M %replace{%m}{secret}{***}%n"/></Ullage></Appenders>
                  <Loggers><Root level="info"><AppenderRef ref="U"/></Root></Loggers>
                </Configuration>""")));
        try (var context = Configurator.initialize(configuration)) {
            context.getLogger("com.example.Db").warn("a secret");
            Event e = only();
            assertEquals(EventLog.WARNING, e.level());
            assertEquals("WARN log4j2WithALayout a ***\n", e.text());
        }
    }

    @Test
    void log4j2() throws Exception {
        var configuration = new XmlConfiguration(null, new ConfigurationSource(stream("""
                <Configuration>
                  <Appenders><Ullage name="U"/></Appenders>
                  <Loggers><Root level="info"><AppenderRef ref="U"/></Root></Loggers>
                </Configuration>""")));
        try (var context = Configurator.initialize(configuration)) {
            var logger = context.getLogger("com.example.Db");
            logger.warn("pool of {} exhausted", 8);
            Event e = only();
            assertEquals(EventLog.WARNING, e.level());
            assertEquals(THREAD + "com.example.Db pool of 8 exhausted", e.firstLine());

            ThreadContext.put("trace", "12ab");
            ThreadContext.put("user", "anna");
            logger.fatal(MarkerManager.getMarker("AUDIT"), "failed", new Exception("outer"));
            ThreadContext.clearAll();
            e = only();
            assertEquals(EventLog.ERROR, e.level());
            assertEquals(THREAD + "com.example.Db {trace=12ab,user=anna} <AUDIT> failed", e.firstLine());
            assertTrue(e.further().startsWith("java.lang.Exception: outer\n\tat "), e.further());

            ThreadContext.push("outer scope");
            ThreadContext.push("inner");
            var child = MarkerManager.getMarker("LOGIN").addParents(MarkerManager.getMarker("SECURITY"));
            logger.log(org.apache.logging.log4j.Level.forName("NOTICE", 350), child, "seen");
            ThreadContext.clearAll();
            e = only();
            assertEquals(EventLog.INFO, e.level());
            assertEquals(THREAD + "com.example.Db {ndc=\"outer scope\",ndc=inner,level=NOTICE} <LOGIN> <SECURITY> seen", e.firstLine());

            logger.debug("not enabled");
            reader.raise(EventLog.DEBUG);
            assertTrue(logger.isDebugEnabled());
            logger.debug("raised {}", 1);
            logger.debug("raised {} {} {}", 1, 2, 3);
            logger.trace("not raised");
            reader.raise(0);
            logger.debug("restored");
            assertEquals(List.of(THREAD + "com.example.Db raised 1", THREAD + "com.example.Db raised 1 2 3"), texts());

            reader.raise(EventLog.DEBUG, 0, 3, "com.example.Db=debug");
            assertFalse(context.getLogger("com.example.D").isDebugEnabled());
            context.getLogger("com.example").debug("not raised");
            context.getLogger("com.example.Db.Pool").debug("one of {} is raised", 2);
            logger.debug("raised");
            assertEquals(List.of(THREAD + "com.example.Db.Pool one of 2 is raised", THREAD + "com.example.Db raised"), texts());

            Configurator.setLevel(context.getLogger("com.example.wire"), org.apache.logging.log4j.Level.OFF);
            reader.raise(EventLog.TRACE, EventLog.TRACE, 4, "trace,com.example.wire=trace");
            context.getLogger("com.example.wire.Headers").debug("Authorization: Bearer secret");
            reader.raise(0);
            assertEquals(List.of(), reader.drain());
        }
    }
}
