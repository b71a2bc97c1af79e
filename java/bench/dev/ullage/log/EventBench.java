package dev.ullage.log;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Measures the cost of an event to the thread that logs it. The ring overwrites itself, so it needs no reader. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class EventBench {
    private final String text18 = "eighteen chars msg";
    private final String text100 = "a".repeat(100);
    private final String wide18 = "achtzehn Zeichen 中";
    private final StringBuilder built18 = new StringBuilder(text18);
    private EventLog log;
    private EventLog none;
    private Path directory;

    @Setup
    public void open() throws IOException {
        directory = Files.createTempDirectory(Path.of("/dev/shm"), "ullage-bench");
        Settings settings = Settings.parse(directory + ",size=1Mi");
        RingFile.create(settings, Origin.now());
        try (Stream<Path> rings = Files.list(directory);
                FileChannel file = FileChannel.open(rings.findFirst().orElseThrow(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MappedByteBuffer memory = file.map(FileChannel.MapMode.READ_WRITE, 0, Layout.DATA_AT + settings.capacity());
            memory.load();
            log = EventLog.of(settings, new Ring(memory, settings, Long.MAX_VALUE));
        }
        none = EventLog.open(null);
    }

    @TearDown
    public void close() throws IOException {
        try (Stream<Path> rings = Files.list(directory)) {
            rings.forEach(ring -> ring.toFile().delete());
        }
        Files.delete(directory);
    }

    @Benchmark
    public long nanoTime() {
        return System.nanoTime();
    }

    @Benchmark
    public boolean withoutRing() {
        return none.event(17, text18);
    }

    @Benchmark
    public boolean notEnabled() {
        return log.log(EventLog.DEBUG, "com.example.Service", text18);
    }

    @Benchmark
    public boolean withoutClock() {
        return log.timed(EventLog.INFO, 17, null, 4711);
    }

    @Benchmark
    public boolean withoutText() {
        return log.event(17);
    }

    @Benchmark
    public boolean twoLongs() {
        return log.info(1, 4711, 42);
    }

    @Benchmark
    public boolean text18() {
        return log.event(17, text18);
    }

    @Benchmark
    public boolean text100() {
        return log.event(17, text100);
    }

    @Benchmark
    public boolean wide18() {
        return log.event(17, wide18);
    }

    @Benchmark
    public boolean logger18() {
        return log.log(EventLog.INFO, "com.example.Service", text18);
    }

    @Benchmark
    public boolean line18() {
        return log.line("main-thread", "com.example.Service").message(built18).send(EventLog.INFO);
    }
}
