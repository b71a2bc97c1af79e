package dev.ullage.log;

import static dev.ullage.log.Layout.*;

import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two writers of a ring with a few records, in all orders that the machine and the compilers produce. */
public final class ClaimStress {
    private ClaimStress() {}

    /** A reusable ring without a file: the garbage collector does not manage its memory. */
    static final class Small {
        private static final int CAPACITY = 128;
        private static final ConcurrentLinkedQueue<Small> FREE = new ConcurrentLinkedQueue<>();
        private static final Settings SETTINGS = new Settings(Path.of("none"), CAPACITY, EventLog.TRACE, EventLog.TRACE, Settings.Patience.NONE);

        private final MappedByteBuffer memory = (MappedByteBuffer) ByteBuffer.allocateDirect(DATA_AT + CAPACITY);
        Ring ring;

        /** Returns an empty ring with the next record at a position. */
        static Small at(long position) {
            Small small = FREE.poll();
            if (small == null) {
                small = new Small();
            }
            small.ring = new Ring(small.memory, SETTINGS);
            for (int i = 0; i < CAPACITY; i += 8) {
                small.memory.putLong(DATA_AT + i, 0);
            }
            for (int i = 0; i < 2 * LEVELS; i++) {
                small.memory.putLong(DROPS_AT + 8 * i, 0);
            }
            small.memory.putLong(TAIL_AT, position).putLong(HEAD_AT, position).putLong(HEAD_COMPLEMENT_AT, ~position);
            return small;
        }

        void free() {
            FREE.add(this);
        }

        /** Returns the ids of the records, in order, as the digits of one number; negative if anything is wrong. */
        int read() {
            long position = memory.getLong(HEAD_AT);
            long tail = memory.getLong(TAIL_AT);
            int ids = 0;
            while (position < tail) {
                int at = DATA_AT + (int) (position & CAPACITY - 1);
                long word = (long) LONG.getAcquire(memory, at);
                int length = (int) word - 1;
                int kind = (int) (word >>> 36 & 15);
                if (length < 0 || word != word(length, (int) (word >>> 32 & 15), kind, 0, position)) {
                    return -1;
                }
                if (kind != PAD) {
                    int id = memory.getInt(at + ID_AT);
                    if (memory.getLong(at + TIME_AT) != id || length != 8 * id || memory.getLong(at + PAYLOAD_AT) != id) {
                        return -2;
                    }
                    ids = 10 * ids + id;
                }
                position += kind == PAD ? length : size(length);
            }
            return position == tail ? ids : -3;
        }

        boolean log(int id) {
            return ring.longs(EventLog.INFO, id, id, id, id, id, id);
        }
    }

    /** Both records fit. One of the two positions is so close to the end that a record does not fit there. */
    @JCStressTest
    @State
    @Outcome(id = {"0, 12", "0, 21"}, expect = Expect.ACCEPTABLE, desc = "both, in one of the orders")
    @Outcome(expect = Expect.FORBIDDEN)
    public static class BothFit {
        private final Small small = Small.at(3 * Small.CAPACITY - 16);

        @Actor
        public void one() {
            small.log(1);
        }

        @Actor
        public void two() {
            small.log(2);
        }

        @Arbiter
        public void read(II_Result result) {
            result.r1 = (int) small.ring.dropped(EventLog.INFO);
            result.r2 = small.read();
            small.free();
        }
    }

    /** The end of the ring has to be padded. Then only one record fits. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 0, 1", "0, 1, 2"}, expect = Expect.ACCEPTABLE, desc = "one is kept, and the other is counted")
    @Outcome(expect = Expect.FORBIDDEN)
    public static class OneFits {
        private final Small small = Small.at(3 * Small.CAPACITY - 24);

        {
            small.memory.putLong(HEAD_AT, 2 * Small.CAPACITY + 40);
            small.memory.putLong(HEAD_COMPLEMENT_AT, ~(2 * Small.CAPACITY + 40L));
            // One pad fills the space before the tail.
            small.memory.putLong(DATA_AT + 40, word(64, 0, PAD, 0, 2 * Small.CAPACITY + 40));
        }

        @Actor
        public void one(III_Result result) {
            result.r1 = small.log(1) ? 1 : 0;
        }

        @Actor
        public void two(III_Result result) {
            result.r2 = small.log(2) ? 1 : 0;
        }

        @Arbiter
        public void read(III_Result result) {
            result.r3 = small.ring.dropped(EventLog.INFO) == 1 ? small.read() : -4;
            small.free();
        }
    }

    /** A reader that sees the word of a complete record also sees the record. */
    @JCStressTest
    @State
    @Outcome(id = {"0, 0", "1, 1"}, expect = Expect.ACCEPTABLE, desc = "nothing, or all of it")
    @Outcome(expect = Expect.FORBIDDEN)
    public static class Complete {
        private final Small small = Small.at(0);

        @Actor
        public void write() {
            small.log(1);
        }

        @Actor
        public void read(II_Result result) {
            long word = (long) LONG.getAcquire(small.memory, DATA_AT);
            result.r1 = (int) word > 0 ? 1 : 0;
            result.r2 = result.r1 == 0 ? 0 : (int) small.memory.getLong(DATA_AT + PAYLOAD_AT);
        }

        @Arbiter
        public void free(II_Result result) {
            small.free();
        }
    }
}
