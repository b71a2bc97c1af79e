package dev.ullage.log;

import static dev.ullage.log.Layout.*;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * Reads a ring as the sidecar does: it reads and writes the file and never maps it. It trusts only bytes that the
 * writer's word vouches for.
 */
public final class RingReader implements AutoCloseable {
    private final FileChannel channel;
    private final int capacity;
    private long position;

    /** One record. Pads are left out. */
    public record Event(long position, int level, int kind, int flags, int id, int thread, long nanos, byte[] payload) {
        /** The payload, which must be valid UTF-8. */
        public String text() {
            try {
                return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(payload)).toString();
            } catch (CharacterCodingException e) {
                throw new AssertionError("the payload is not UTF-8", e);
            }
        }

        /** The first line of a logger's record. */
        public String firstLine() {
            return new String(payload, 0, id, StandardCharsets.UTF_8);
        }

        /** The lines after the first one. */
        public String further() {
            return new String(payload, id, payload.length - id, StandardCharsets.UTF_8);
        }

        public long argument(int i) {
            return ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN).getLong(8 * i);
        }
    }

    public RingReader(Path file) throws IOException {
        channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        if (at(0) != MAGIC) {
            throw new AssertionError("no magic number");
        }
        capacity = (int) at(CAPACITY_AT);
        position = at(HEAD_AT);
    }

    /** The only ring in a directory. */
    public static RingReader in(Path directory) throws IOException {
        List<Path> found = files(directory);
        if (found.size() != 1) {
            throw new AssertionError(found.size() + " rings in " + directory);
        }
        return new RingReader(found.get(0));
    }

    public static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(p -> p.toString().endsWith(".ring")).sorted().toList();
        }
    }

    /** Reads the complete records, and frees their space. */
    public List<Event> drain() throws IOException {
        long from = position;
        List<Event> events = peek();
        for (long p = from; p < position; ) {
            int n = (int) Math.min(position - p, capacity - (p & capacity - 1));
            write(DATA_AT + (int) (p & capacity - 1), ByteBuffer.allocate(n));
            p += n;
        }
        head(position);
        return events;
    }

    /** Reads the complete records without freeing their space. */
    public List<Event> peek() throws IOException {
        List<Event> events = new ArrayList<>();
        long tail = at(TAIL_AT);
        while (position < tail) {
            int index = DATA_AT + (int) (position & capacity - 1);
            long word = at(index);
            int length = (int) word - 1;
            int kind = (int) (word >>> 36 & 15);
            if (length < 0) {
                break; // claimed but not complete, or not yet claimed
            }
            if (word != word(length, (int) (word >>> 32 & 15), kind, (int) (word >>> 40 & 255), position)) {
                throw new AssertionError("bad word at " + position);
            }
            if (kind == PAD) {
                position += length;
                continue;
            }
            ByteBuffer b = read(index, size(length));
            byte[] payload = new byte[length];
            b.get(PAYLOAD_AT, payload);
            events.add(new Event(position, (int) (word >>> 32 & 15), kind, (int) (word >>> 40 & 255),
                    b.getInt(ID_AT), b.getInt(ID_AT + 4), b.getLong(TIME_AT), payload));
            position += size(length);
        }
        return events;
    }

    /** Skips a claim. */
    public void skip(int bytes) {
        position += bytes;
    }

    public void head(long to) throws IOException {
        write(HEAD_AT, number(to, ~to));
        position = to;
    }

    public void put(int at, long value) throws IOException {
        write(at, number(value));
    }

    public void raise(int level) throws IOException {
        raised(level | level << 8);
    }

    public void raised(int word) throws IOException {
        write(RAISED_AT, ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, word));
    }

    /** Writes rules as the sidecar does: first the rules, then the word that refers to them. */
    public void raise(int any, int all, int generation, String rules) throws IOException {
        byte[] text = rules.getBytes(StandardCharsets.US_ASCII);
        ByteBuffer b = ByteBuffer.allocate(LOGGERS_TEXT + text.length).order(ByteOrder.LITTLE_ENDIAN);
        b.putInt(4, generation).putInt(8, text.length).put(LOGGERS_TEXT, text);
        CRC32C check = new CRC32C();
        check.update(b.array(), 4, b.capacity() - 4);
        write(LOGGERS_AT, b.putInt(0, (int) check.getValue()));
        raised(any | all << 8 | generation << 16);
    }

    public void abandon() throws IOException {
        write(ABANDONED_AT, ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, 1));
    }

    public long dropped(int reason, int level) throws IOException {
        return at(DROPS_AT + (reason * LEVELS + level) * 8);
    }

    public long dropped() throws IOException {
        long n = 0;
        for (int i = 0; i < 2 * LEVELS; i++) {
            n += at(DROPS_AT + i * 8);
        }
        return n;
    }

    public long at(int offset) throws IOException {
        return read(offset, 8).getLong(0);
    }

    public ByteBuffer read(int offset, int length) throws IOException {
        ByteBuffer b = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        while (b.hasRemaining()) {
            if (channel.read(b, offset + b.position()) < 0) {
                throw new AssertionError("the file ends at " + offset);
            }
        }
        return b.flip();
    }

    private static ByteBuffer number(long... values) {
        ByteBuffer b = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (long value : values) {
            b.putLong(value);
        }
        return b.flip();
    }

    private void write(int offset, ByteBuffer b) throws IOException {
        while (b.hasRemaining()) {
            channel.write(b, offset + b.position());
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
