package dev.ullage.log;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Writes events into a ring in shared memory. From there, the ullage sidecar writes them to durable storage. Logged
 * events survive {@code kill -9} of this JVM.
 *
 * <pre>{@code
 * static final EventLog LOG = EventLog.get();
 * static final int REQUEST = LOG.template("request {} took {} us");
 *
 * LOG.event(17, "after connect");
 * LOG.info(REQUEST, id, micros);
 * LOG.log(EventLog.WARNING, "com.example.Db", "pool exhausted");
 * }</pre>
 *
 * <p><b>Contract of all methods that log.</b> They never throw, take no lock and, unless their description says so,
 * do not allocate. They make a system call only to wait for room in a full ring, if the setting {@code wait} asks for
 * that. If there is no ring, or the sidecar abandoned it, a call may also start a thread that creates another.
 * The methods return whether the event was kept. False means that the level is not enabled, that there is no ring, that
 * the thread has no stack left, or that the ring was too full for the level. In the last case, the event is counted by
 * level, and the sidecar writes the count into the log. A ring that is half full keeps only events of the level
 * {@code keep} (by default {@link #WARNING}) and above. A level outside of {@link #TRACE} to {@link #ERROR} is treated
 * as the nearest of these.
 *
 * <p><b>Cost.</b> An event costs a call of {@link System#nanoTime()}, a compare-and-set and stores into memory that
 * is mostly in the processor's cache. If no ring is configured, it costs the loads of two fields.
 *
 * <p><b>Threads.</b> All threads may call all methods at any time. The events of a thread stay in order. There are no
 * thread locals, so virtual threads cost no memory. A call never pins a virtual thread, and unmounts it only to wait
 * for room.
 *
 * <p><b>Setting.</b> The system property {@code ullage.events} or, if it is not set, the environment variable
 * {@code ULLAGE_EVENTS} has the form {@code DIR[,size=4Mi][,keep=warning][,level=info][,wait=LEVEL:TIME]}. Its parts
 * are the directory of the ring, the size of the ring, the lowest level that a half-full ring keeps, the lowest level
 * that is enabled, and the lowest level at which a call waits for room in a full ring, with the longest wait. The
 * default of {@code wait} is {@code error:20ms} for the lines of front ends. Other calls do not wait unless it is set.
 */
public final class EventLog {
    /** The level of the finest detail. */
    public static final int TRACE = 1;
    /** The level of details for developers. */
    public static final int DEBUG = 2;
    /** The level of events in normal operation. */
    public static final int INFO = 3;
    /** The level of events that may lead to an error. */
    public static final int WARNING = 4;
    /** The level of failures. */
    public static final int ERROR = 5;

    /** Longer texts are first copied into a buffer, which can cut them. */
    private static final int DIRECT = Layout.MAX_PAYLOAD / 4;

    private static final long RETRY_NANOS = 10_000_000_000L;

    private static final class Holder {
        static final EventLog LOG = fromEnvironment();
    }

    private final Settings settings; // null: there will never be a ring
    private final long retryNanos; // the wait after a ring could not be created
    private final LinePool lines = new LinePool(this);
    private final List<String> templates = new ArrayList<>(); // also the lock for the fields below
    private final long[] droppedBefore = new long[Layout.LEVELS]; // in rings that were replaced
    private final AtomicLongArray missed = new AtomicLongArray(Layout.LEVELS); // events while there was no ring
    private final AtomicBoolean renewing = new AtomicBoolean();
    private volatile Ring ring;
    private volatile String problem;
    private volatile long renewAfter;
    private int templateBytes;
    private int frontEnds;
    private boolean pinned; // the application uses the log without a front end, and may do so at any time
    private volatile boolean returned; // written under the lock: no front end wants a ring

    private EventLog(Settings settings, Ring ring, String problem, long retryNanos) {
        this.settings = settings;
        this.retryNanos = retryNanos;
        this.ring = ring;
        this.problem = problem;
        renewAfter = System.nanoTime() + (ring == null ? retryNanos : 0);
    }

    /**
     * Returns the log of this JVM, or of the class loader that has loaded this class. The first call creates the
     * ring, which takes about a millisecond. If that fails, it prints one line to {@link System#err}. While the log
     * is used, a background thread then tries again every ten seconds.
     *
     * @return the same object at each call; never null
     */
    public static EventLog get() {
        EventLog log = Holder.LOG;
        synchronized (log.templates) {
            log.pinned = true;
            log.takeAgain();
        }
        return log;
    }

    /**
     * Returns the same log as {@link #get}, for a front end that will call {@link #leave} when it stops. When all
     * front ends have left and the application has not called {@link #get}, the log returns the ring: the sidecar
     * reads it to its end and removes it, although the JVM continues to run. The next front end gets another ring.
     *
     * @return the same object at each call; never null
     */
    public static EventLog join() {
        EventLog log = Holder.LOG;
        synchronized (log.templates) {
            log.frontEnds++;
            log.takeAgain();
        }
        return log;
    }

    /** Reports that a front end has stopped. Call it once for each {@link #join}. */
    public void leave() {
        synchronized (templates) {
            if (--frontEnds > 0 || pinned || settings == null) {
                return;
            }
            returned = true; // even without a ring: a retry that is under way must not create one
            Ring r = ring;
            if (r == null) {
                return;
            }
            try {
                r.close();
                keepDrops(r);
            } catch (InternalError e) {
                // The ring's file was truncated: there is nothing to return.
            }
            problem = "the ring was returned, since all front ends are stopped";
            ring = null;
        }
    }

    /** Creates a ring in place of a returned one. The caller holds the lock. */
    private void takeAgain() {
        if (returned) {
            returned = false;
            replace(null);
        }
    }

    private static EventLog fromEnvironment() {
        String setting = null;
        try {
            setting = System.getProperty("ullage.events", System.getenv("ULLAGE_EVENTS"));
        } catch (SecurityException e) {
            // The same as without a setting.
        }
        EventLog log = open(setting);
        if (setting != null && !log.isActive()) {
            System.err.println("ullage: there is no ring for events: " + log.problem()
                    + (log.settings == null ? "" : "; trying again every 10 s"));
        }
        return log;
    }

    /** Returns a log with a new ring, or without one if the setting is null or no ring can be created. */
    static EventLog open(String setting) {
        return open(setting, RETRY_NANOS);
    }

    static EventLog open(String setting, long retryNanos) {
        if (setting == null || setting.isBlank()) {
            return new EventLog(null, null, "ULLAGE_EVENTS is not set", retryNanos);
        }
        Settings settings = null;
        try {
            settings = Settings.parse(setting);
            return new EventLog(settings, RingFile.create(settings, Origin.now()), null, retryNanos);
        } catch (Exception | LinkageError | OutOfMemoryError e) {
            return new EventLog(settings, null, String.valueOf(e), retryNanos);
        }
    }

    /** Returns a log with an existing ring. */
    static EventLog of(Settings settings, Ring ring) {
        return new EventLog(settings, ring, null, RETRY_NANOS);
    }

    /**
     * Returns whether there is a ring. Without one, front ends write to other appenders.
     *
     * @return false if no event would be kept now
     */
    public boolean isActive() {
        if (ring != null) {
            return true;
        }
        renew(null);
        return false;
    }

    /**
     * Returns why there is no ring.
     *
     * @return a text for people, or null if there is a ring
     */
    public String problem() {
        return problem;
    }

    /**
     * Returns whether events of a level are logged: at or above the set level, or raised by the sidecar at run time.
     * It costs a comparison and, for a lower level, a load from the ring.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @return false if a call with this level would log nothing
     */
    public boolean isEnabled(int level) {
        return isEnabled(level, null);
    }

    private boolean isEnabled(int level, String logger) {
        Ring r = ring;
        try {
            return r != null && r.isEnabled(bounded(level), logger);
        } catch (InternalError e) {
            fail(r, e);
            return false;
        }
    }

    /**
     * Returns whether the sidecar raised a logger to a level at run time. The libraries of front ends have levels of
     * their own; front ends log an event if either level asks for it. The call costs a load from the ring and, while
     * only some loggers are raised, a table lookup.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @param logger the name of the logger; may be null: none
     * @return true while the sidecar asks for events of this level
     */
    public boolean isRaised(int level, String logger) {
        Ring r = ring;
        try {
            return r != null && r.isRaised(bounded(level), logger);
        } catch (InternalError e) {
            fail(r, e);
            return false;
        }
    }

    /**
     * Declares a message with {@code {}} in place of each argument. Call it once for each message, for a static field.
     * It takes a lock and allocates.
     *
     * @param text at most 1024 bytes in UTF-8; all templates together have room for 28 KiB
     * @return the number to pass to calls that log the message, or 0 if there is no room: the sidecar then writes only
     *     the arguments
     */
    public int template(String text) {
        if (text == null || settings == null) {
            return 0;
        }
        int size = text.getBytes(StandardCharsets.UTF_8).length;
        synchronized (templates) {
            if (size == 0 || size > Layout.MAX_TEMPLATE || templateBytes + 2 + size > Layout.DATA_AT - Layout.TEMPLATES_AT) {
                return 0;
            }
            Ring r = ring;
            try {
                if (r != null) { // else the next ring gets it, with all other templates
                    r.template(text);
                }
            } catch (InternalError e) {
                fail(r, e);
            }
            templateBytes += 2 + size;
            templates.add(text);
            return templates.size();
        }
    }

    /**
     * Logs an event without text, at level info.
     *
     * @param n any number; the line begins with it
     * @return whether it was kept
     */
    public boolean event(int n) {
        return ring == null ? miss(INFO) : timed(INFO, n, null, System.nanoTime());
    }

    /**
     * Logs a number and a text, at level info. A text of more than 8192 characters is copied once more; a text of
     * more than 32 KiB keeps only its beginning and its end.
     *
     * @param n any number; the line begins with it
     * @param text may be null: no text
     * @return whether it was kept
     */
    public boolean event(int n, String text) {
        return ring == null ? miss(INFO) : timed(INFO, n, text, System.nanoTime());
    }

    /**
     * Logs a number and a text with a time that the caller already knows, such as the start of a request: reading the
     * clock is most of the cost of an event.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @param n any number; the line begins with it
     * @param text may be null: no text
     * @param nanos a value of {@link System#nanoTime()}
     * @return whether it was kept
     */
    public boolean timed(int level, int n, String text, long nanos) {
        Ring r = ring;
        if (r == null) {
            return miss(level);
        }
        try {
            int bounded = bounded(level);
            if (!r.isEnabled(bounded, null)) {
                return false;
            }
            if (text != null && text.length() > DIRECT) {
                return lines.take(true).append(text).sendAs(Layout.TEXT, bounded, n, nanos);
            }
            return r.event(bounded, n, text, nanos) || refused(r);
        } catch (StackOverflowError | OutOfMemoryError e) {
            return false;
        } catch (RuntimeException | InternalError e) {
            return fail(r, e);
        }
    }

    /**
     * Logs an argument for a template, at level info. Nothing is formatted in this JVM.
     *
     * @param template from {@link #template(String)}
     * @param a the argument
     * @return whether it was kept
     */
    public boolean info(int template, long a) {
        return ring == null ? miss(INFO) : longs(INFO, template, 1, a, 0, 0);
    }

    /**
     * Logs two arguments for a template, at level info. Nothing is formatted in this JVM.
     *
     * @param template from {@link #template(String)}
     * @param a the first argument
     * @param b the second argument
     * @return whether it was kept
     */
    public boolean info(int template, long a, long b) {
        return ring == null ? miss(INFO) : longs(INFO, template, 2, a, b, 0);
    }

    /**
     * Logs three arguments for a template, at level info. Nothing is formatted in this JVM.
     *
     * @param template from {@link #template(String)}
     * @param a the first argument
     * @param b the second argument
     * @param c the third argument
     * @return whether it was kept
     */
    public boolean info(int template, long a, long b, long c) {
        return ring == null ? miss(INFO) : longs(INFO, template, 3, a, b, c);
    }

    /**
     * Logs two arguments for a template. Nothing is formatted in this JVM.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @param template from {@link #template(String)}
     * @param a the first argument
     * @param b the second argument
     * @return whether it was kept
     */
    public boolean log(int level, int template, long a, long b) {
        return ring == null ? miss(level) : longs(level, template, 2, a, b, 0);
    }

    private boolean longs(int level, int template, int count, long a, long b, long c) {
        Ring r = ring;
        if (r == null) {
            return miss(level);
        }
        try {
            int bounded = bounded(level);
            if (!r.isEnabled(bounded, null)) {
                return false;
            }
            return r.longs(bounded, template, count, a, b, c, System.nanoTime()) || refused(r);
        } catch (StackOverflowError | OutOfMemoryError e) {
            return false;
        } catch (RuntimeException | InternalError e) {
            return fail(r, e);
        }
    }

    /**
     * Logs {@code [thread] logger text}. A text of more than 32 KiB keeps only its beginning and its end.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @param logger the name of the logger, usually that of a class; may be null: none
     * @param text if null, "null" is written
     * @return whether it was kept
     */
    public boolean log(int level, String logger, String text) {
        return log(level, logger, text, null);
    }

    /**
     * Logs {@code [thread] logger text} with the stack trace of a throwable in further lines of the same record. It
     * allocates memory for the stack trace.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @param logger the name of the logger, usually that of a class; may be null: none
     * @param text if null, "null" is written
     * @param thrown may be null: no further lines
     * @return whether it was kept
     */
    public boolean log(int level, String logger, String text, Throwable thrown) {
        if (ring == null) {
            return miss(level);
        }
        try {
            return isEnabled(level, logger)
                    && begin(true, Thread.currentThread().getName(), logger).message(text).thrown(thrown).send(level);
        } catch (StackOverflowError | OutOfMemoryError e) {
            return false;
        }
    }

    /**
     * Begins a record in the form that front ends of logging libraries use, with {@code [thread] logger}. The caller
     * appends to the line and sends it. A line that is never sent only becomes garbage. A line is sent at any level,
     * because the library has checked the level already.
     *
     * <p>It allocates only if the thread finds no free line in a pool of up to four lines for each processor.
     *
     * @param thread the name of the thread; may be null
     * @param logger the name of the logger; may be null
     * @return a line that belongs to the caller until it is sent; never null
     */
    public Line line(String thread, String logger) {
        return begin(false, thread, logger);
    }

    private Line begin(boolean direct, String thread, String logger) {
        return lines.take(direct).begin(thread, logger == null ? "-" : logger);
    }

    /**
     * Logs lines that the application's own layout has made. They are written to the log unchanged, so the layout has
     * to show their level and their time. This method is for front ends and, like {@link #line}, logs at any level. It
     * allocates only if there are more than 32 KiB: it then keeps the beginning and the end.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}: decides whether a ring that fills up refuses the lines
     * @param lines one or more lines, in UTF-8, with or without a line feed at the end; may be null: nothing
     * @return whether it was kept
     */
    public boolean encoded(int level, byte[] lines) {
        if (lines == null) {
            return false;
        }
        if (lines.length > Layout.MAX_PAYLOAD) {
            return this.lines.take(false).append(lines).sendAs(Layout.OWN, level, 0, System.nanoTime());
        }
        return write(false, level, Layout.OWN, 0, 0, lines, lines.length, System.nanoTime());
    }

    /** Writes the finished bytes of a line, which is from a direct call or from a front end. */
    boolean write(boolean direct, int level, int kind, int id, int flags, byte[] payload, int length, long nanos) {
        Ring r = ring;
        if (r == null) {
            return miss(level);
        }
        try {
            return r.bytes(direct, bounded(level), kind, id, flags, payload, length, nanos) || refused(r);
        } catch (StackOverflowError | OutOfMemoryError e) {
            return false;
        } catch (RuntimeException | InternalError e) {
            return fail(r, e);
        }
    }

    /**
     * Returns how many bytes of the ring hold events that the sidecar has not yet read.
     *
     * @return 0 without a ring
     */
    public long backlog() {
        Ring r = ring;
        try {
            return r == null ? 0 : r.backlog();
        } catch (InternalError e) {
            fail(r, e);
            return 0;
        }
    }

    /**
     * Returns how many events were dropped because the ring was too full for them.
     *
     * @return the sum over all levels
     */
    public long dropped() {
        long n = 0;
        for (int level = TRACE; level <= ERROR; level++) {
            n += dropped(level);
        }
        return n;
    }

    /**
     * Returns how many events of a level were dropped because the ring was too full for them. If the sidecar abandons
     * a ring, events dropped at that moment may be missing here; the sidecar counts them.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @return the number, including events dropped while a configured ring did not exist
     */
    public long dropped(int level) {
        Ring r = ring;
        int bounded = bounded(level);
        try {
            return droppedBefore[bounded] + missed.get(bounded) + (r == null ? 0 : r.dropped(bounded));
        } catch (InternalError e) {
            fail(r, e);
            return 0;
        }
    }

    private static int bounded(int level) {
        return level < TRACE ? TRACE : level > ERROR ? ERROR : level;
    }

    /** Counts an event for which there was no ring. It returns false, which is the result of its callers. */
    private boolean miss(int level) {
        int bounded = bounded(level);
        if (settings != null && bounded >= settings.baseLevel()) {
            missed.getAndIncrement(bounded);
            Ring r = ring;
            if (r == null) {
                renew(null);
            } else { // it was created just now
                try {
                    reportMissed(r);
                } catch (InternalError e) {
                    fail(r, e);
                }
            }
        }
        return false;
    }

    /** Adds the missed events to the counters of a ring, so that the sidecar writes their number into the log. */
    private void reportMissed(Ring r) {
        for (int level = TRACE; level <= ERROR; level++) {
            r.addDropped(level, missed.getAndSet(level, 0));
        }
    }

    /** Requests a new ring if the sidecar abandoned this one. It returns false, which is the result of its callers. */
    private boolean refused(Ring r) {
        if (r.isAbandoned()) {
            renew(r);
        }
        return false;
    }

    /** Starts a thread that creates or replaces the ring, unless that failed a moment ago. */
    private void renew(Ring old) {
        if (settings == null || returned || System.nanoTime() - renewAfter < 0 || !renewing.compareAndSet(false, true)) {
            return;
        }
        try {
            Thread thread = new Thread(null, () -> replace(old), "ullage-ring", 0, false);
            thread.setDaemon(true);
            thread.setContextClassLoader(null); // else it would retain the class loader of an application that ends
            thread.start();
        } catch (OutOfMemoryError | SecurityException e) { // the system allows no more threads
            renewAfter = System.nanoTime() + retryNanos;
            renewing.set(false);
        }
    }

    /** Creates the first ring, or replaces a ring that the sidecar abandoned. */
    private void replace(Ring old) {
        try {
            synchronized (templates) {
                if (ring != old || returned) {
                    return;
                }
                Ring fresh = RingFile.create(settings, Origin.now());
                templates.forEach(fresh::template);
                if (old != null) {
                    keepDrops(old);
                }
                ring = fresh;
                problem = null;
                reportMissed(fresh);
            }
        } catch (Exception | LinkageError | OutOfMemoryError | InternalError e) {
            renewAfter = System.nanoTime() + retryNanos;
            if (ring == null) {
                problem = String.valueOf(e);
            }
        } finally {
            renewing.set(false);
        }
    }

    private void keepDrops(Ring old) {
        for (int level = TRACE; level <= ERROR; level++) {
            droppedBefore[level] += old.dropped(level);
        }
    }

    /** Stops the use of a ring whose file was truncated or overwritten. The log gets another ring later. */
    private boolean fail(Ring broken, Throwable cause) {
        if (ring == broken) {
            problem = "the ring file was damaged: " + cause;
            renewAfter = System.nanoTime() + retryNanos;
            ring = null;
        }
        return false;
    }
}
