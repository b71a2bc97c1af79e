package dev.ullage.log;

import static dev.ullage.log.Layout.*;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/** Creates ring files. It never opens an existing one for writing: a JVM always begins a new ring. */
final class RingFile {
    private RingFile() {}

    /** The most rings in a directory: without a sidecar, no process removes the rings of JVMs that have ended. */
    static final int MAX_RINGS = 8;

    /**
     * Creates the ring of a process.
     *
     * @throws IOException also if the file system is full: each page is written before it is
     *     mapped, so that a later store into the ring always has its page
     */
    static Ring create(Settings settings, Origin origin) throws IOException {
        boolean interrupted = Thread.interrupted(); // an interrupt would close the file
        try {
            return createNamed(settings, origin);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static Ring createNamed(Settings settings, Origin origin) throws IOException {
        bound(settings);
        String base = "events-" + origin.pid() + "-" + origin.wallMillis();
        for (int n = 1; ; n++) {
            String name = base + (n == 1 ? "" : "-" + n) + ".ring";
            Path file = settings.directory().resolve(name);
            Path unfinished = settings.directory().resolve("." + name + ".new");
            try {
                return create(settings, origin, unfinished, file);
            } catch (FileAlreadyExistsException e) {
                if (n == MAX_RINGS) { // processes of other containers may have the same pid and start time
                    throw e;
                }
            }
        }
    }

    /**
     * Creates a ring under a name that marks it as unfinished, and then renames it. The creator of the first name
     * owns the second too, so no JVM replaces the file of another.
     */
    static Ring create(Settings settings, Origin origin, Path unfinished, Path file) throws IOException {
        FileChannel channel = FileChannel.open(unfinished,
                StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE);
        try (channel) {
            if (Files.exists(file)) {
                throw new FileAlreadyExistsException(file.toString());
            }
            int size = DATA_AT + settings.capacity();
            fill(channel, size);
            MappedByteBuffer buffer = channel.map(FileChannel.MapMode.READ_WRITE, 0, size);
            buffer.load(); // the page faults happen now, and not while logging
            header(buffer.order(ByteOrder.LITTLE_ENDIAN), settings, origin);
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
            return new Ring(buffer, settings);
        } catch (IOException | RuntimeException | Error e) {
            Files.deleteIfExists(unfinished);
            throw e;
        }
    }

    private static void fill(FileChannel channel, int size) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocateDirect(64 << 10);
        for (int at = 0; at < size; ) {
            zeros.clear().limit(Math.min(zeros.capacity(), size - at));
            at += channel.write(zeros, at);
        }
    }

    private static void header(ByteBuffer buffer, Settings settings, Origin origin) {
        buffer.putInt(VERSION_AT, VERSION);
        buffer.putInt(DATA_OFFSET_AT, DATA_AT);
        buffer.putLong(CAPACITY_AT, settings.capacity());
        buffer.putInt(STRIPES_AT, 1);
        buffer.putInt(MAX_PAYLOAD_AT, MAX_PAYLOAD);
        buffer.putLong(PID_AT, origin.pid());
        buffer.putLong(NANO_TIME_AT, origin.nanoTime());
        buffer.putLong(WALL_AT, origin.wallNanos());
        buffer.putLong(FLAGS_AT, 0);
        buffer.putLong(HEAD_COMPLEMENT_AT, ~0L);
        LONG.setRelease(buffer, 0, MAGIC);
    }

    /** Fails if there are already as many rings as allowed. */
    private static void bound(Settings settings) throws IOException {
        int rings = 0;
        try (DirectoryStream<Path> found = Files.newDirectoryStream(settings.directory(), "events-*.ring")) {
            for (Path file : found) {
                rings++;
            }
        }
        if (rings >= MAX_RINGS) {
            throw new IOException(settings.directory() + " has " + rings + " rings already that no sidecar has removed: is a sidecar running as this user?");
        }
    }
}
