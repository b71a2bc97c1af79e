package dev.ullage.log;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Writes events into a ring in shared memory, from where the ullage sidecar takes them to
 * durable storage. What was logged survives {@code kill -9} of this JVM.
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
 * <p><b>Contract of every method that logs.</b> It never throws, takes a lock or, unless its description says so, allocates.
 * It makes a system call only to wait for room in a full ring, where the setting {@code wait} asks for that. It returns whether the event was
 * kept. A false means that the level is not enabled, that there is no ring, that the thread has no
 * stack left, or that the ring was too full for the level; in that case the event is counted by
 * level, and the sidecar writes the count into the log. In a ring that is half full only events of the level {@code keep} (by
 * default {@link #WARNING}) and above are kept. A level outside of {@link #TRACE} to
 * {@link #ERROR} is taken for the nearest of them.
 *
 * <p><b>Cost.</b> An event costs the price of {@link System#nanoTime()}, of one compare-and-set and of
 * stores into memory that mostly is in the processor's cache. Without a ring it costs the load of
 * a field.
 *
 * <p><b>Threads.</b> All methods may be called by all threads at any time. Events of one thread
 * stay in order. There are no thread locals, so virtual threads cost no memory; a virtual
 * thread is never unmounted or pinned by a call.
 *
 * <p><b>Setting.</b> The system property {@code ullage.events}, else the environment variable
 * {@code ULLAGE_EVENTS}, is {@code DIR[,size=4Mi][,keep=warning][,level=info][,wait=LEVEL:TIME]}: the
 * directory of the ring, its size, the level from which events are kept in a ring that fills up, the
 * lowest level that is enabled, the lowest level at which a call waits for room in a full ring, and
 * for how long at most (such as {@code error:20ms}, the default for the lines of front ends; other
 * calls do not wait unless it is set).
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

    /** Texts with more characters take the way over a buffer, which knows how to cut them. */
    private static final int DIRECT = Layout.MAX_PAYLOAD / 4;

    private static final long RETRY_NANOS = 10_000_000_000L;

    private static final class Holder {
        static final EventLog LOG = fromEnvironment();
    }

    private final Settings settings; // null: there will never be a ring
    private final long retryNanos; // after no ring could be made
    private final LinePool lines = new LinePool(this);
    private final List<String> templates = new ArrayList<>(); // also the lock of what follows
    private final long[] droppedBefore = new long[Layout.LEVELS]; // in rings that were replaced
    private final AtomicLongArray missed = new AtomicLongArray(Layout.LEVELS); // since there is no ring
    private final AtomicBoolean renewing = new AtomicBoolean();
    private volatile Ring ring;
    private volatile String problem;
    private volatile long renewAfter;
    private int templateBytes;
    private int frontEnds;
    private boolean pinned; // the application uses the log without a front end, and may do so at any time
    private boolean returned;

    private EventLog(Settings settings, Ring ring, String problem, long retryNanos) {
        this.settings = settings;
        this.retryNanos = retryNanos;
        this.ring = ring;
        this.problem = problem;
        renewAfter = System.nanoTime() + (ring == null ? retryNanos : 0);
    }

    /**
     * Returns the log of this JVM, or of the class loader that has loaded this class. The first call creates the ring,
     * which takes about a millisecond. Where that fails, it prints one line to {@link System#err}, and the log tries again
     * every ten seconds, in a thread of its own, while it is used.
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
     * Returns the same log as {@link #get}, to a front end that will call {@link #leave} when it is stopped. When all front
     * ends have left, and the application has not called {@link #get}, the ring is returned: the sidecar reads it to its end and removes it
     * although the JVM goes on. The next front end gets another ring.
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

    /** Says that a front end is stopped. Call it once for each {@link #join}. */
    public void leave() {
        synchronized (templates) {
            Ring r = ring;
            if (--frontEnds > 0 || pinned || r == null) {
                return;
            }
            try {
                r.close();
                keepDrops(r);
            } catch (InternalError e) {
                // Its file was truncated: there is nothing to return.
            }
            problem = "the ring was returned, since all front ends are stopped";
            returned = true;
            ring = null;
        }
    }

    /** Creates a ring to replace one that was returned. The caller holds the lock. */
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
            // As if it were not set.
        }
        EventLog log = open(setting);
        if (setting != null && !log.isActive()) {
            System.err.println("ullage: there is no ring for events: " + log.problem()
                    + (log.settings == null ? "" : "; trying again every 10 s"));
        }
        return log;
    }

    /** A log with a ring of its own, or without one if the setting is null or cannot be met. */
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

    /** A log with a ring that is there already. */
    static EventLog of(Settings settings, Ring ring) {
        return new EventLog(settings, ring, null, RETRY_NANOS);
    }

    /**
     * Returns whether there is a ring. Front ends write elsewhere while there is none.
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
     * Returns whether events of a level are logged: those at the set level and above, and those that the
     * sidecar raised at run time. It costs a comparison, or a load from the ring for a level
     * below the set one.
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
     * Returns whether the sidecar raised a level of a logger at run time. Front ends, whose libraries have
     * levels of their own, log an event if either asks for it. It costs a load from the ring, and a
     * look into a table while some loggers are raised and others are not.
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
     * Declares a message with {@code {}} in the places of its arguments, once, in a static
     * field. It takes a lock and allocates.
     *
     * @param text at most 1024 bytes in UTF-8; all templates together have room for 28 KiB
     * @return the number to log it with, or 0 if there is no room: the sidecar then writes the
     *     arguments alone
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
                if (r != null) { // else the next one gets it with all others
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
     * Logs a number and a text, at level info. A text of more than 8192 characters is copied
     * once more; of one of more than 32 KiB the beginning and the end are kept.
     *
     * @param n any number; the line begins with it
     * @param text may be null: no text
     * @return whether it was kept
     */
    public boolean event(int n, String text) {
        return ring == null ? miss(INFO) : timed(INFO, n, text, System.nanoTime());
    }

    /**
     * Logs a number and a text with the time that the caller has from elsewhere, such as from
     * the start of a request: the clock is most of the price of an event.
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
     * Logs {@code [thread] logger text}. More than 8192 characters are copied once more; of more than 32 KiB the
     * beginning and the end are kept.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @param logger who logs it, mostly the name of a class; may be null: none
     * @param text may be null, and is then written as such
     * @return whether it was kept
     */
    public boolean log(int level, String logger, String text) {
        Ring r = ring;
        if (r == null) {
            return miss(level);
        }
        try {
            int bounded = bounded(level);
            if (!r.isEnabled(bounded, logger)) {
                return false;
            }
            String thread = Thread.currentThread().getName();
            String who = logger == null ? "-" : logger;
            String what = text == null ? "null" : text;
            if (thread.length() + who.length() + what.length() > DIRECT || Line.needsDash(what)) {
                return lines.take(true).begin(thread, who).message(what).send(bounded);
            }
            return r.line(bounded, thread, who, what, System.nanoTime()) || refused(r);
        } catch (StackOverflowError | OutOfMemoryError e) {
            return false;
        } catch (RuntimeException | InternalError e) {
            return fail(r, e);
        }
    }

    /**
     * Logs {@code [thread] logger text} and the stack trace of a throwable as further lines of the
     * same record. It allocates, for the stack trace.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @param logger who logs it, mostly the name of a class; may be null: none
     * @param text may be null, and is then written as such
     * @param thrown may be null: no further lines
     * @return whether it was kept
     */
    public boolean log(int level, String logger, String text, Throwable thrown) {
        if (thrown == null || !isEnabled(level, logger)) {
            return log(level, logger, text);
        }
        return begin(true, Thread.currentThread().getName(), logger).message(text).thrown(thrown).send(level);
    }

    /**
     * Begins a record as front ends of logging libraries write it, with {@code [thread] logger}.
     * The caller appends to it and sends it; a line that is not sent is merely garbage. A line
     * is sent whatever its level, since the library has decided already.
     *
     * <p>It allocates nothing while at most four threads for each processor have a line that they have not
     * sent yet.
     *
     * @param thread the name of the thread; may be null
     * @param logger the name of the logger; may be null
     * @return a line of the caller's own until it is sent; never null
     */
    public Line line(String thread, String logger) {
        return begin(false, thread, logger);
    }

    private Line begin(boolean direct, String thread, String logger) {
        return lines.take(direct).begin(thread, logger == null ? "-" : logger);
    }

    /**
     * Logs lines that a layout of the application's own has made. They come into the log as they are, so their
     * layout has to show their level and their time. Front ends use it, as {@link #line}: whatever the level is. It allocates
     * only for lines of more than 32 KiB, of which the beginning and the end are kept.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}: decides what is refused when the ring fills up
     * @param lines one line or several ones, in UTF-8, with or without a line feed at the end; may be null: nothing
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

    /** Writes the bytes of a line, which is at its end: of a direct call, or of a front end. */
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
     * Returns how many bytes of the ring hold events that the sidecar has not taken yet.
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
     * Returns how many events were dropped since the ring was too full for them.
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
     * Returns how many events of a level were dropped since the ring was too full for them. Those of
     * the moment in which the sidecar made this JVM change to another ring may be missing here; the sidecar
     * counts them.
     *
     * @param level from {@link #TRACE} to {@link #ERROR}
     * @return those that no ring was there for included, if one was asked for
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

    /** Counts an event that no ring gets. It is false, for callers' returns. */
    private boolean miss(int level) {
        int bounded = bounded(level);
        if (settings != null && bounded >= settings.baseLevel()) {
            missed.getAndIncrement(bounded);
            Ring r = ring;
            if (r == null) {
                renew(null);
            } else { // it came just now
                try {
                    reportMissed(r);
                } catch (InternalError e) {
                    fail(r, e);
                }
            }
        }
        return false;
    }

    /** Has the ring count the events before it, so that the sidecar writes their number into the log. */
    private void reportMissed(Ring r) {
        for (int level = TRACE; level <= ERROR; level++) {
            r.addDropped(level, missed.getAndSet(level, 0));
        }
    }

    /** Has a new ring made where the sidecar gave this one up. It is false, for callers' returns. */
    private boolean refused(Ring r) {
        if (r.isAbandoned()) {
            renew(r);
        }
        return false;
    }

    /** Has a separate thread make a ring, or replace one, unless that failed just now. */
    private void renew(Ring old) {
        if (settings == null || System.nanoTime() - renewAfter < 0 || !renewing.compareAndSet(false, true)) {
            return;
        }
        try {
            Thread thread = new Thread(null, () -> replace(old), "ullage-ring", 0, false);
            thread.setDaemon(true);
            thread.setContextClassLoader(null); // else it would keep the one of an application that ends
            thread.start();
        } catch (OutOfMemoryError | SecurityException e) { // as many threads as the system allows
            renewAfter = System.nanoTime() + retryNanos;
            renewing.set(false);
        }
    }

    /** Replaces a ring that the sidecar abandoned, or makes the first one. */
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

    /** Goes on without a ring whose file was truncated or overwritten, until there is another one. */
    private boolean fail(Ring broken, Throwable cause) {
        if (ring == broken) {
            problem = "the ring file was damaged: " + cause;
            renewAfter = System.nanoTime() + retryNanos;
            ring = null;
        }
        return false;
    }
}
