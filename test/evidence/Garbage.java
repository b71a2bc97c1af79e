/** Makes garbage for the given seconds, so that a JVM at all=trace has something to log. */
public class Garbage {
    static Object last;

    public static void main(String[] args) {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        while (System.nanoTime() < end) {
            last = new byte[8192];
        }
    }
}
