package dev.ullage.log;

import static org.junit.jupiter.api.Assertions.*;

import dev.ullage.log.RingReader.Event;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests separate JVMs that are killed, lose their file, or find no memory for one. */
class ProcessTest {
    @TempDir
    Path directory;

    private static List<String> java(Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java",
                "-XX:+UseSerialGC", "-Xmx64m", "-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        return command;
    }

    private static Process start(List<String> command) throws IOException {
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private static BufferedReader output(Process process) {
        return new BufferedReader(new InputStreamReader(process.getInputStream()));
    }

    /** Writes numbered events. A mapped file contains the number of calls that returned. */
    static final class Numbered {
        public static void main(String[] a) throws Exception {
            EventLog log = EventLog.open(a[0] + ",size=16Mi");
            try (FileChannel file = FileChannel.open(Path.of(a[0], "returned"), StandardOpenOption.CREATE,
                    StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                ByteBuffer returned = file.map(FileChannel.MapMode.READ_WRITE, 0, 4096).order(ByteOrder.LITTLE_ENDIAN);
                System.out.println("ready");
                for (int i = 0; log.event(i, "eighteen chars msg"); i++) {
                    Layout.INT.setRelease(returned, 0, i + 1);
                }
            }
        }
    }

    @Test
    void eventsOfReturnedCallsSurviveAKill() throws Exception {
        for (int wait : new int[] {0, 5, 20}) {
            Path place = Files.createDirectory(directory.resolve("kill" + wait));
            Process process = start(java(Numbered.class, place.toString()));
            assertEquals("ready", output(process).readLine());
            Thread.sleep(wait); // any moment is suitable
            process.destroyForcibly().waitFor();
            int returned = ByteBuffer.wrap(Files.readAllBytes(place.resolve("returned"))).order(ByteOrder.LITTLE_ENDIAN).getInt(0);
            try (RingReader reader = RingReader.in(place)) {
                List<Event> events = reader.peek();
                assertTrue(events.size() >= returned && events.size() <= returned + 1,
                        events.size() + " events of " + returned + " calls");
                for (int i = 0; i < events.size(); i++) {
                    assertEquals(i, events.get(i).id());
                }
            }
        }
    }

    /** Truncates its own ring once its code is compiled. Then it prints the results of its calls. */
    static final class Truncated {
        public static void main(String[] a) throws Exception {
            EventLog log = EventLog.open(a[0] + ",size=64Mi");
            for (int i = 0; i < 300_000; i++) {
                log.event(i, "eighteen chars msg");
            }
            try (FileChannel file = FileChannel.open(RingReader.files(Path.of(a[0])).get(0), StandardOpenOption.WRITE)) {
                file.truncate(0);
            }
            var thrown = new AtomicInteger(); // the error may occur anywhere in a thread that has logged
            for (int t = 0; t < 3; t++) {
                Thread thread = new Thread(() -> {
                    for (int i = 0; i < 100_000; i++) {
                        log.event(i, "eighteen chars msg");
                    }
                });
                thread.setUncaughtExceptionHandler((ended, e) -> thrown.addAndGet(e instanceof InternalError ? 1 : 1000));
                thread.start();
                thread.join();
            }
            System.out.println(thrown + " " + log.isActive());
        }
    }

    /**
     * The kernel sends SIGBUS to a process that uses a page beyond the end of its file; HotSpot converts the signal
     * to an InternalError. JDK 17 may throw it a little later, in the caller of the log. The log abandons the ring
     * only when it catches such an error itself: until then, each call may cause another.
     */
    @Test
    void aTruncatedRingDoesNotEndTheJVM() throws Exception {
        Process process = start(java(Truncated.class, directory.toString()));
        String result = output(process).readLine();
        assertEquals(0, process.waitFor());
        System.out.println("truncated under a running JVM " + Runtime.version() + ": errors thrown, still active: " + result);
        if (Runtime.version().feature() >= 21) {
            assertEquals("0 false", result);
        }
    }

    /** Tries to create a ring that is larger than the file system. */
    static final class TooLarge {
        public static void main(String[] a) {
            EventLog log = EventLog.open(a[0] + ",size=2Mi");
            System.out.println(log.event(1) + " " + log.problem() + " " + Path.of(a[0]).toFile().list().length);
        }
    }

    @Test
    void aFullFileSystemIsNoRing() throws Exception {
        List<String> command = new ArrayList<>(List.of("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                "mount -t tmpfs -o size=1m none \"$1\" || exit 77; shift; exec \"$@\"", "sh", directory.toString()));
        command.addAll(java(TooLarge.class, directory.toString()));
        Process process = start(command);
        String result = output(process).readLine();
        Assumptions.assumeTrue(process.waitFor() != 77 && result != null, "no mounts here");
        assertTrue(result.matches("false .*No space left on device.* 0"), result);
    }

    /** Reads the setting from the environment, as in a container. */
    static final class FromEnvironment {
        public static void main(String[] a) {
            System.out.println(EventLog.get().event(1) + " " + EventLog.get().problem());
        }
    }

    @Test
    void theSettingComesFromTheEnvironment() throws Exception {
        for (var c : Map.of("", "false ULLAGE_EVENTS is not set", directory.toString(), "true null").entrySet()) {
            ProcessBuilder builder = new ProcessBuilder(java(FromEnvironment.class));
            builder.environment().remove("ULLAGE_EVENTS");
            if (!c.getKey().isEmpty()) {
                builder.environment().put("ULLAGE_EVENTS", c.getKey());
            }
            Process process = builder.redirectErrorStream(true).start();
            assertEquals(c.getValue(), output(process).readLine());
        }
    }
}
