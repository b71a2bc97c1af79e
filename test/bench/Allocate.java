import java.util.ArrayDeque;

/** Allocates, so that a JVM at all=trace has something to say, for the given seconds. */
public class Allocate {
    public static void main(String[] args) {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        ArrayDeque<byte[]> live = new ArrayDeque<>();
        while (System.nanoTime() < end) {
            live.add(new byte[8192]);
            if (live.size() > 4000) {
                live.poll();
            }
        }
    }
}
